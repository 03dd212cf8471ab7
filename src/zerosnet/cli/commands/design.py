"""`zerosnet design`: the scheme with the smallest parasitic roots."""

from typing import TYPE_CHECKING

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.numerics import Design

_MOST_STEPS_OF_TABLE = 6


@app.command(short_help="Find the most stable scheme of an order, with a proof.")
def design(
    steps: int | None = typer.Option(None, help="How many past states: 1 to 8."),
    order: int | None = typer.Option(None, help="The order, at most the number of steps."),
    json: bool = typer.Option(False, "--json", help=output.JSON_HELP),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
) -> None:
    """Find the scheme with one slope whose largest parasitic root is as small as can be, with a proof.

    With --steps and --order that scheme; with --steps alone all its orders; with neither the table up to 6 steps.
    """
    from zerosnet.numerics import design_table
    from zerosnet.report import design_figure

    table = _table(steps, order)
    path = output.checked_plot(plot)
    chosen = table[0] if order is not None else None
    if json:
        output.print_json(chosen.to_json() if chosen else [best.to_json() for best in table])
    elif chosen:
        output.print_facts(f"{steps} steps, order {order}, one slope", _rows(chosen))
    else:
        columns = ("steps", "order", "modulus m", "exactly", "C/sigma(1)", "interval", "stable")
        output.print_table("The best schemes with one slope", columns, map(_line, table), right=columns[:3])
        print("stable no: proved that none is zero-stable (in brackets: m of the only scheme)")
        print("C: error constant; interval: x, where [-x, 0] is the real interval of absolute stability")
    output.draw(path, lambda: design_figure(design_table(max(_MOST_STEPS_OF_TABLE, steps or 1)), chosen), quiet=json)


def _table(steps: int | None, order: int | None) -> "list[Design]":
    from zerosnet.numerics import design, design_table

    if steps is None:
        if order is not None:
            raise InputError("--order is given without --steps")
        return list(design_table(_MOST_STEPS_OF_TABLE))
    if order is None:
        return [design(steps, each) for each in range(1, max(steps, 1) + 1)]
    return [design(steps, order)]


def _line(best: "Design") -> tuple[str, ...]:
    modulus = "none" if best.modulus is None else f"{best.modulus:.6g}"
    return (
        str(best.steps),
        str(best.order),
        modulus if best.feasible or best.modulus is None else f"({modulus})",
        best.exact_modulus or "",
        output.number_text(best.normalised_error_constant),
        output.number_text(best.real_interval),
        "yes" if best.feasible else "no",
    )


def _rows(best: "Design") -> list[tuple[str, str]]:
    rows = [("zero-stable", "yes" if best.feasible else "no, proved")]
    if best.scheme is not None:
        modulus = f"{best.modulus:.6g}"
        exactly = "" if best.exact_modulus in (None, modulus) else f" ({best.exact_modulus})"
        rows += [
            ("alphas", ", ".join(map(output.number_text, best.scheme.alphas))),
            ("betas", ", ".join(map(output.number_text, best.scheme.betas))),
            ("largest parasitic modulus m", modulus + exactly),
            ("parasitic roots", best.structure or ("all 0" if best.modulus == 0 else "no choice")),
            ("error constant", output.number_text(best.error_constant)),
            ("divided by sigma(1)", output.number_text(best.normalised_error_constant)),
            ("absolutely stable", f"for h mu {output.real_text(best.real_interval, best.feasible)}, where y' = mu y"),
        ]
    return [*rows, ("proof", best.proof)]

"""`zerosnet design`: the scheme with the smallest parasitic roots, or with the most effective depth."""

from typing import TYPE_CHECKING

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.numerics import DepthDesign, Design, StepDesign

_MOST_STEPS_OF_TABLE = 6
_STEPS_OF_DEPTH_TABLE = (1, 2, 3, 4)
_STEPS_OF_FIGURE = 3
_MOST_BLOCKS = 2_000


@app.command(short_help="Find the most stable scheme of an order, or the one that uses most of its depth.")
def design(
    steps: int | None = typer.Option(None, help="How many past states: 1 to 8."),
    order: int | None = typer.Option(None, help="The order, at most the number of steps."),
    objective: str = typer.Option("modulus", help="modulus (smallest parasitic roots), depth, head or accuracy."),
    blocks: str | None = typer.Option(None, help="Blocks of every stage, for the other objectives: 9,9,9."),
    layers: int | None = typer.Option(None, help="The same by layers, such as 110, 326, 1298; 56 by default."),
    free_betas: bool = typer.Option(False, help="Find the best beta of every block too, by head or accuracy."),
    json: bool = typer.Option(False, "--json", help=output.JSON_HELP),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
) -> None:
    """Find the scheme with one slope whose largest parasitic root is as small as can be, with a proof.

    With --steps and --order that scheme; with --steps alone all its orders; with neither the table up to 6 steps.

    With --objective depth the scheme whose blocks add most in a network of --blocks, found by a search: effective depth
    from shares (depth), from parts of what the head reads (head), or accuracy by the law (accuracy). Without --steps
    for 1 to 4 steps. --plot draws the trade-off against parasitic roots, stage gain, steps and order.
    """
    if objective != "modulus":
        counts = _counts(blocks, layers)
        _by_depth(steps, order, objective, counts, free_betas, json, plot)
        return
    for name, given in (("--blocks", blocks), ("--layers", layers), ("--free-betas", free_betas or None)):
        if given is not None:
            raise InputError(f"{name} is given without --objective depth, head or accuracy")
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
        print("C: error constant; interval: x of the real interval [-x, 0] of absolute stability")
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


def _by_depth(
    steps: int | None,
    order: int | None,
    objective: str,
    counts: tuple[int, ...],
    free_betas: bool,
    json: bool,
    plot: str | None,
) -> None:
    from zerosnet.numerics import best_betas, depth_trade_off, design
    from zerosnet.report import depth_design_figure

    if steps is None and order is not None:
        raise InputError("--order is given without --steps")
    if steps is None and free_betas:
        raise InputError("--free-betas is given without --steps")
    path = output.checked_plot(plot)
    chosen = None if steps is None else design(steps, order, objective=objective, blocks=counts)
    if chosen is not None:
        betas = best_betas(chosen.scheme, counts, objective=objective) if free_betas else None
        if json:
            added = {} if betas is None else {"free_betas": betas.to_json()}
            output.print_json(chosen.to_json() | added)
        else:
            stages = ", ".join(map(str, counts))
            rows = _depth_rows(chosen) + ([] if betas is None else _beta_rows(betas))
            output.print_facts(f"{steps} steps, blocks {stages}, most {objective}", rows)
    else:
        table = [design(each, objective=objective, blocks=counts) for each in _STEPS_OF_DEPTH_TABLE]
        if json:
            output.print_json([best.to_json() for best in table])
        else:
            columns = ("steps", objective, "Euler's", "modulus m", "alphas; beta")
            lines = map(_depth_line, table)
            output.print_table(f"The schemes with the most {objective}", columns, lines, right=columns[:4])
    output.draw(
        path,
        lambda: depth_design_figure(depth_trade_off(steps or _STEPS_OF_FIGURE, counts, objective=objective), chosen),
        quiet=json,
    )


def _counts(blocks: str | None, layers: int | None) -> tuple[int, ...]:
    """Read the blocks of every stage."""
    from zerosnet.numerics import blocks_of

    if blocks is None:
        return blocks_of(56 if layers is None else layers)
    if layers is not None:
        raise InputError("--blocks and --layers are given; expected one of them")
    parts = [part.strip() for part in blocks.split(",")]
    known = tuple(int(part) if part.isascii() and part.isdigit() and len(part) <= 4 else 0 for part in parts)
    if min(known) < 1 or sum(known) > _MOST_BLOCKS:
        raise InputError(f"--blocks is {blocks[:40]!r}; expected such as 9,9,9, at most {_MOST_BLOCKS} together")
    return known


def _depth_line(best: "DepthDesign") -> tuple[str, ...]:
    scheme = "; ".join(", ".join(f"{float(x):.4g}" for x in group) for group in (best.scheme.alphas, best.scheme.betas))
    return str(best.steps), f"{best.value:.2f}", f"{best.euler:.2f}", f"{best.parasitic_modulus:.3f}", scheme


def _depth_rows(best: "DepthDesign") -> list[tuple[str, str]]:
    noun = {"accuracy": "predicted accuracy, %", "head": "effective depth by parts"}.get(
        best.objective, "effective depth"
    )
    return [
        ("alphas", ", ".join(map(output.number_text, best.scheme.alphas))),
        ("beta", output.number_text(best.scheme.betas[0])),
        (noun, f"{best.value:.2f} (Euler's scheme: {best.euler:.2f}){_caveat(best)}"),
        ("order", f"at least {best.order}"),
        ("largest parasitic modulus", f"{best.parasitic_modulus:.4g}"),
        ("stage gain", f"{best.stage_gain:.3g}"),
    ]


def _caveat(best: "DepthDesign") -> str:
    """Name what the law was not fitted on, if accuracy is the objective."""
    from zerosnet.numerics import Wiring, load_law

    if best.objective != "accuracy":
        return ""
    why_not = load_law().not_calibrated(Wiring.of(best.scheme, best.blocks))
    return "" if why_not is None else f"; not calibrated: {why_not}"


def _beta_rows(found: "StepDesign") -> list[tuple[str, str]]:
    betas = ", ".join(f"{beta:.4g}" for beta in found.betas)
    return [("with free betas", f"{found.value:.2f}"), ("betas after start-up", betas)]


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
            ("absolutely stable", f"for y' = mu y with h mu {output.real_text(best.real_interval, best.feasible)}"),
        ]
    return [*rows, ("proof", best.proof)]

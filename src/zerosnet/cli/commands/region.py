"""`zerosnet region`: which parameters of a family are zero-stable, and where a member is absolutely stable."""

from typing import Any

import typer

from zerosnet.cli import output
from zerosnet.cli.commands.analyze import rows_of
from zerosnet.cli.main import app
from zerosnet.errors import InputError


@app.command(short_help="Solve the exact set of zero-stable parameters of a family.")
def region(
    family: str = typer.Option(..., help="euler, lm, zerosnet, leapfrog, momentum, adams-bashforth, from-roots."),
    param: str | None = typer.Option(None, help="A member: also its region of absolute stability."),
    beta: str | None = typer.Option(None, help="For lm: consistent (1+k), paper (2k+1) or original (1)."),
    json: bool = typer.Option(False, "--json", help=output.JSON_HELP),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
) -> None:
    """Solve the exact set of zero-stable parameters of a family, as intervals.

    With --param also that member's real and imaginary intervals of absolute stability; --plot draws the root locus
    with the stable set shaded and, with --param, the region of absolute stability.
    """
    from zerosnet.numerics import facts
    from zerosnet.numerics import family as family_named
    from zerosnet.report import family_figure, scheme_figure

    chosen = family_named(family)
    if param is None and beta is not None:
        raise InputError("--beta is given without --param")
    member = None if param is None else output.family_member(family, param, beta)
    path = output.checked_plot(plot)
    stable = chosen.stable_set()
    if json:
        document: dict[str, Any] = {
            "family": chosen.name,
            "parameter": chosen.parameter or None,
            "description": chosen.description,
            "latex": chosen.formula,
            "stable_set": stable.to_json(),
        }
        if member is not None:
            document["member"] = {"param": param, **facts(member)}
        output.print_json(document)
    else:
        only = "yes" if stable else "no"
        answer = f"{chosen.parameter} in {stable}" if chosen.parameter else f"{only}, its only member"
        output.print_facts(chosen.name, [("family", chosen.description), ("zero-stable", answer)])
        if member is not None:
            print()
            output.print_facts(f"{chosen.name}({param}{f', beta={beta}' if beta else ''})", rows_of(member))

    def figure() -> Any:
        if member is None or (param is not None and "," not in param):
            options = {} if beta is None else {"beta": beta}
            return family_figure(chosen, param, **options)
        return scheme_figure(member)

    output.draw(path, figure, quiet=json)

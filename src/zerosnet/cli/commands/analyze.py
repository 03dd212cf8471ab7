"""`zerosnet analyze`: everything about a scheme."""

from typing import TYPE_CHECKING

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.numerics import Scheme

_EXAMPLES = """Decide zero stability, consistency and order of a scheme, exactly.

Name it in one way: zerosnet analyze "zerosnet(-9/5)", or "1/3,5/9,1/9;16/9" (alphas;betas), or --alphas 1/3,5/9,1/9
--betas 16/9, or --family zerosnet --param -9/5. Numbers are exact, 0.1 is one tenth.

--paper analyses the ten schemes of the paper. --concepts tells A-stability, BIBO stability and zero stability apart;
with --plot FILE it draws the paper's Figure 1."""


# unknown options and words are let through, so that "-3,5,-1;4" is a scheme
@app.command(
    help=_EXAMPLES,
    short_help="Decide zero stability and order of a scheme, exactly.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def analyze(
    context: typer.Context,
    scheme: str | None = typer.Argument(None, help='A family\'s member, "zerosnet(-9/5)", or "alphas;betas".'),
    alphas: str | None = typer.Option(None, help="Weights of the states, newest first: 1/3,5/9,1/9."),
    betas: str | None = typer.Option(None, help="Weights of the slopes, newest first: 16/9."),
    family: str | None = typer.Option(
        None, help="euler, lm, zerosnet, leapfrog, momentum, adams-bashforth, from-roots."
    ),
    param: str | None = typer.Option(None, help="The family's parameter."),
    beta: str | None = typer.Option(None, help="For lm: consistent (1+k), paper (2k+1) or original (1)."),
    paper: bool = typer.Option(False, "--paper", help="The ten rows of the paper's table."),
    concepts: bool = typer.Option(False, "--concepts", help="The three notions of stability; the paper's Figure 1."),
    json: bool = typer.Option(False, "--json", help=output.JSON_HELP),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
) -> None:
    _refuse_other_words([*([] if scheme is None else [scheme]), *context.args], context)
    named = any(value is not None for value in (scheme, alphas, betas, family, param, beta))
    if paper + concepts + named > 1:
        raise InputError("--paper, --concepts and a scheme exclude each other; expected one of them")
    if paper:
        _paper(json, plot)
    elif concepts:
        _concepts(json, plot)
    else:
        _scheme(output.named_scheme(scheme, alphas, betas, family, param, beta), json, plot)


def _refuse_other_words(words: list[str], context: typer.Context) -> None:
    """Raise an error for a second word, and for letters after a dash, which are a mistyped option."""
    output.refuse_options(words, context)
    if len(words) > 1:
        raise InputError(f'a scheme is one word, in quotes if need be, "zerosnet(-9/5)"; got {" ".join(words)!r}')


def rows_of(scheme: "Scheme") -> list[tuple[str, str]]:
    """List the facts of a scheme for people: its analysis and its intervals of absolute stability."""
    from zerosnet.numerics import analyze, imaginary_interval, real_interval

    analysis = analyze(scheme)
    stable = analysis.verdict.zero_stable
    return [
        *analysis.rows(),
        ("absolutely stable", f"for y' = mu y with h mu {output.real_text(real_interval(scheme), stable)}"),
        ("", f"and with h mu {output.imaginary_text(imaginary_interval(scheme), stable)}"),
    ]


def _scheme(scheme: "Scheme", json: bool, plot: str | None) -> None:
    from zerosnet.numerics import facts
    from zerosnet.report import scheme_figure

    path = output.checked_plot(plot)
    with output.within_floats(scheme):
        if json:
            output.print_json(facts(scheme))
        else:
            output.print_facts(f"{scheme.steps}-step scheme", rows_of(scheme))
        output.draw(path, lambda: scheme_figure(scheme), quiet=json)


def _paper(json: bool, plot: str | None) -> None:
    from zerosnet.numerics import PAPER_ROWS, analyze
    from zerosnet.report import paper_figure

    path = output.checked_plot(plot)
    if json:
        output.print_json([row.to_json() for row in PAPER_ROWS])
    else:
        lines = []
        for row in PAPER_ROWS:
            found = analyze(row.scheme)
            lines.append(
                (
                    row.label,
                    str(row.scheme).replace(";", "; "),
                    "" if row.lam is None else str(row.lam),
                    _ANSWERS[found.verdict.zero_stable],
                    str(found.order) if found.consistent else "none",
                    f"{found.growth.constant:.3g}",
                )
            )
        columns = ("moduli", "alphas; beta", "lambda", "stable", "order", "growth")
        output.print_table("The ten schemes of the paper", columns, lines, right=columns[4:])
        print("moduli as the paper prints them; order none: not consistent;")
        print("growth: of a perturbation over 27 blocks, at most")
    output.draw(path, paper_figure, quiet=json)


_ANSWERS = {True: "yes", False: "no", None: "undecided"}

# notion, what it asks for, when a scheme has it, and whether one of the paper's rows does
_CONCEPTS = (
    (
        "A-stability",
        "y' = q y with Re q < 0 decays at any step size",
        "the region of absolute stability holds the left half-plane; no explicit scheme has it",
    ),
    ("BIBO stability", "bounded inputs give bounded outputs", "all roots of rho inside the unit circle, 1 excluded"),
    (
        "zero stability",
        "similar starting values stay similar, at any depth",
        "all roots of rho in the closed unit disc, those on the circle simple",
    ),
)


def _concepts(json: bool, plot: str | None) -> None:
    from zerosnet.numerics import PAPER_ROWS, root_condition
    from zerosnet.report import stability_concepts_figure

    path = output.checked_plot(plot)
    verdicts = {row.label: root_condition(row.scheme) for row in PAPER_ROWS}
    having: tuple[list[str], ...] = (
        [],
        [label for label, verdict in verdicts.items() if max(verdict.moduli) < 1],
        [label for label, verdict in verdicts.items() if verdict.zero_stable],
    )
    if json:
        names = ("concept", "asks", "holds_where", "paper_rows")
        output.print_json([dict(zip(names, (*line, rows))) for line, rows in zip(_CONCEPTS, having)])
    else:
        lines = [(*line, f"{len(rows)} of {len(PAPER_ROWS)}") for line, rows in zip(_CONCEPTS, having)]
        output.print_table("Three notions of stability", ("notion", "asks that", "holds where", "paper's rows"), lines)
    output.draw(path, stability_concepts_figure, quiet=json)

"""Helpers that commands share: schemes by name, tables for people, JSON for programs, figure files."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table
    from typer import Context

    from zerosnet.numerics import Forecast, Scheme

JSON_HELP = "One JSON document on stdout, nothing else."
PLOT_HELP = "Draw it into FILE (.png, .svg or .pdf)."
_WIDTH_OF_PLAIN_OUTPUT = 100
_WIDEST_TABLE = 1_000
# exact answers about longer schemes take minutes; in Python there is no limit
_LONGEST_TEXT, _MOST_STEPS, _MOST_WORK = 4_000, 16, 16_000
_WAYS = 'a scheme such as "zerosnet(-9/5)" or "1/3,5/9,1/9;16/9", --alphas with --betas, or --family'
_SCHEMES_OF_NETWORKS = dict.fromkeys(("resnet", "resnetv2", "wide_resnet", "preactresnet", "preresnet"), "euler")
_STYLES = {"yes": "green", "no": "red", "undecided": "yellow", "none": "dim"}


def named_scheme(
    text: str | None, alphas: str | None, betas: str | None, family: str | None, param: str | None, beta: str | None
) -> "Scheme":
    """Read the scheme, which must be named in exactly one way."""
    given = [text is not None, alphas is not None or betas is not None, family is not None]
    if sum(given) != 1:
        raise InputError(
            f"{'more than one way to name a scheme' if any(given) else 'no scheme given'}; expected {_WAYS}"
        )
    if family is not None:
        return family_member(family, param, beta)
    if param is not None or beta is not None:
        raise InputError(f"{'--param' if param is not None else '--beta'} is given without --family")
    if text is not None:
        return parsed_scheme(text)
    if alphas is None or betas is None:
        raise InputError(f"--alphas and --betas go together; {'--betas' if betas is None else '--alphas'} is missing")
    return parsed_scheme(f"{alphas};{betas}")


def scheme_option(text: str | None) -> "Scheme | None":
    """Read the option --scheme of a command that trains; None is the model's own."""
    if text is None:
        return None
    from zerosnet.training import check_scheme

    try:
        scheme = _parse(text)
    except InputError as error:
        raise InputError(f"scheme: {error}") from None
    check_scheme(scheme)
    return scheme


def family_member(name: str, param: str | None, beta: str | None = None) -> "Scheme":
    """Make a family's member, its parameters given as in "zerosnet(-9/5)"."""
    from zerosnet.numerics import family

    inside = [part for part in (param, None if beta is None else f"beta={beta}") if part is not None]
    return parsed_scheme(f"{family(name).name}({', '.join(inside)})")


def parsed_scheme(text: str) -> "Scheme":
    """Read a scheme that was given as one word."""
    _refuse_network(text)
    scheme = _parse(text) if len(text) <= _LONGEST_TEXT else None
    if scheme is None or scheme.steps > _MOST_STEPS or scheme.steps * len(str(scheme)) > _MOST_WORK:
        raise InputError(
            f"the scheme {text[:60]!r}... is too long; on the command line expected at most {_MOST_STEPS} steps, "
            f"and steps times characters at most {_MOST_WORK}"
        )
    return scheme


def _parse(text: str) -> "Scheme":
    """Read a scheme; numbers without a semicolon are what a shell leaves of one without quotes."""
    from zerosnet.numerics import Scheme

    if text and not text.strip("+-,./0123456789 "):
        raise InputError(
            f'scheme is {text!r}, without a semicolon; expected "alphas;betas" such as "1,1,1;1", in quotes, because a '
            "shell ends a command at a semicolon"
        )
    return Scheme.parse(text)


def _refuse_network(text: str) -> None:
    """Refuse a network's name in a scheme's place, and name the scheme that it has."""
    from zerosnet.cli.other_network import is_other
    from zerosnet.models import find_name

    if is_other(text):
        raise InputError(
            f'{text!r} is a network of another package; expected a scheme such as "zerosnet(-9/5)", or to measure the '
            f"network: zerosnet diagnose {text}"
        )
    scheme = _SCHEMES_OF_NETWORKS.get(text.lower().rstrip("-_0123456789"))
    if scheme is None:
        try:
            form, _ = find_name(text)
        except InputError:
            return
        scheme = None if form.scheme is None else form.scheme.name
    own = "" if scheme is None else f"; that of {text} is {scheme}"
    raise InputError(f'{text!r} is a network; expected a scheme such as "zerosnet(-9/5)"{own}')


def refuse_options(words: Sequence[str], context: "Context") -> None:
    """Refuse words that look like options: a command that takes "-3,5,-1;4" for a scheme lets all words through."""
    for word in words:
        if word.startswith("-") and word.lstrip("-")[:1].isalpha():
            known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
            near = did_you_mean(word.partition("=")[0], known)
            raise InputError(f"no such option: {word}{near}; see {context.command_path} --help")


def checked_plot(plot: str | None) -> Path | None:
    """Check, before anything is computed, that the figure file can be written."""
    if plot is None:
        return None
    from zerosnet.report import figure_file

    return figure_file(plot)


def draw(path: Path | None, figure: "Callable[[], Figure]", quiet: bool) -> None:
    """Draw into the file, if there is one, and print its name."""
    if path is None:
        return
    from zerosnet.report import save_figure

    save_figure(figure(), path)
    if not quiet:
        print(f"Figure: {path}")


def print_json(value: Any) -> None:
    import json

    print(json.dumps(finite(value), indent=2, ensure_ascii=False))


def print_facts(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a title and lines of a name and a value."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, title=title, title_justify="left", title_style="bold")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value, style=_STYLES.get(value.split(" ")[0], "")))
    console().print(table)


def print_table(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[str] = (),
    styles: Mapping[str, str] = _STYLES,
    whole: Sequence[str] = (),
) -> None:
    """Print a table with a header; the columns named in `right` are set flush right, those in `whole` never folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    look: Any = {"box": box.SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    table = Table(**look, title=title, title_justify="left", title_style="bold")
    for name in columns:
        flush = name in right
        table.add_column(name, justify="right" if flush else "left", overflow="fold", no_wrap=name in whole)
    for row in rows:
        table.add_row(*(Text(value, style=styles.get(value.partition(" ")[0], "")) for value in row))
    console().print(table)


def print_at_full_width(table: "Table") -> None:
    """Print a table of numbers; a terminal that is too narrow wraps its lines and cuts no number."""
    screen = console()
    wide = screen.options.update(max_width=_WIDEST_TABLE)
    screen.width = max(screen.width, screen.measure(table, options=wide).maximum)
    screen.print(table)


def print_reasons(forecasts: "Sequence[Forecast]") -> None:
    """Print why the law predicts no accuracy for some or all of these networks."""
    names: dict[str, list[str]] = {}
    for one in forecasts:
        if one.prediction.why_not is not None:
            names.setdefault(one.prediction.why_not, []).append(one.scheme.short_name)
    for why_not, schemes in names.items():
        which = "" if len(schemes) == len(forecasts) else f" for {', '.join(schemes)}"
        print(f"no accuracy{which}: {why_not}")


def number_text(value: Any) -> str:
    """Write a number short and, if possible, exactly: 16/9, 0.836014, none."""
    if value is None:
        return "none"
    text = str(value)
    return text if not isinstance(value, float) and len(text) <= 12 else f"{float(value):.6g}"


@contextmanager
def within_floats(scheme: "Scheme") -> Iterator[None]:
    """Report numbers that leave the range of floats as a matter of the scheme's coefficients."""
    try:
        yield
    except OverflowError:
        text = str(scheme)
        raise InputError(
            f"the coefficients of {text[:60] + '...' if len(text) > 60 else text} are too far apart: a quotient "
            "of them is no float; expected quotients of at most 1e300"
        ) from None


def real_text(reach: Any, zero_stable: bool | None) -> str:
    """Write the interval of absolute stability on the real axis, given how far it reaches."""
    return _interval_text(reach, zero_stable, "the real axis", "from -{0} to 0")


def imaginary_text(reach: Any, zero_stable: bool | None) -> str:
    """Write the interval of absolute stability on the imaginary axis, given how far it reaches."""
    return _interval_text(reach, zero_stable, "the imaginary axis", "from -{0} i to {0} i")


def _interval_text(reach: Any, zero_stable: bool | None, axis: str, ends: str) -> str:
    """Write an interval; absolute stability at 0 is zero stability."""
    at_zero = {True: "at 0 only", False: "in no interval that begins at 0", None: "at 0 at most"}[zero_stable]
    where = "everywhere" if reach == inf else at_zero if reach == 0 else ends.format(number_text(reach))
    return f"{where} on {axis}"


def console() -> "Console":
    """Make the console that commands print on: as wide as the terminal or $COLUMNS, elsewhere 100 columns."""
    from rich.console import Console

    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(width=None if known else _WIDTH_OF_PLAIN_OUTPUT, highlight=False, markup=False, emoji=False)

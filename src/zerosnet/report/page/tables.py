"""An experiment as a table: the paper's numbers and ours in every cell, and how far apart they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zerosnet.experiments import Column, Measured, MeasuredCell, Summary, TableRow, at_scale
from zerosnet.numerics import PAPER_ROWS
from zerosnet.report.page.glossary import explained
from zerosnet.report.page.html import Html, element, join, signed
from zerosnet.report.page.schemes import named

_MODULI = ("Roots' moduli", "Moduli of roots", "coefficients")
_PAPER_LABELS = {row.scheme: row.label for row in PAPER_ROWS}
_GLUE = "\u00a0"
_DRAWN = ("roots", "shares of the blocks")  # columns that narrow screens leave out
_SEPARATE = 1  # tables of so many columns of numbers give each number a column of its own
_OTHER_DATA = {"demo": "other data, not compared"}  # scales whose numbers must not be measured by the paper's
# from so many deviations on: the sign for more and for less, and how strong the colour is
_SIZES = (
    (3.0, "▲" * 2, "▼" * 2, 3),
    (2.0, "▲", "▼", 2),
    (1.0, "△", "▽", 1),
    (0.0, "≈", "≈", 0),
)


def experiment_table(
    measured: Measured, warnings: str | None = None, said: Mapping[str, str] | None = None, *, printed: bool = False
) -> Html:
    """The table of the rows that have a number of ours; the others are counted in one line below.

    Args:
        warnings: The place on the page that names the failed sanity checks of attacks.
        said: A remark about a group of rows, by its name.
        printed: Show the rows that have a number of the paper only, too.
    """
    experiment, cells = measured.experiment, {(cell.row, cell.column): cell for cell in measured.cells}
    shown = [row for row in experiment.rows if _is_shown(measured, row, printed=printed)]
    remarks = tuple(dict.fromkeys(cell.note for cell in measured.cells if cell.note))
    look = _Look(_OTHER_DATA.get(measured.scale), warnings, remarks)
    ours = experiment.reference == "ours"
    parts = _OURS if ours else _BESIDE
    separate = len(experiment.columns) <= _SEPARATE
    kept = [i for i in range(len(experiment.heads)) if not _repeats_group(experiment.rows, i)]

    def numbers(row: TableRow) -> list[Html]:
        found = [cells.get((row.key, column.key)) for column in experiment.columns]
        if not separate:
            return [_stacked(cell, look) for cell in found]
        return [part for cell in found for part in _apart(cell, look, parts)]

    width = len(kept) + len(experiment.columns) * (len(parts) if separate else 1)
    bodies = []
    for group in dict.fromkeys(row.group for row in shown):
        rows = [row for row in shown if row.group == group]
        lines = [_line(row, _labels(row, kept), numbers(row), marked=row.ours and not ours) for row in rows]
        if group:
            words = element("small", said[group], class_="printed") if said and group in said else None
            head = element("th", group, words, colspan=width, scope="rowgroup")
            lines.insert(0, element("tr", head, class_="group"))
        bodies.append(element("tbody", lines))
    where = "An experiment of our own" if ours else f"The paper's {experiment.reference}"
    what = at_scale(experiment.what, measured.scale)
    caption = f"{where}: {what}. Compared: {experiment.compared}."
    names = ["scheme" if experiment.heads[i] in _MODULI else experiment.heads[i] for i in kept]
    heads = _heads(names, experiment.columns, parts if separate else ())
    table = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", heads)),
        bodies,
        class_="experiment",
    )
    below = [element("p", element("sup", i), " ", remark, class_="small") for i, remark in enumerate(remarks, 1)]
    waiting = sum(any(cell.status == "not run" for cell in _of_row(measured, row)) for row in experiment.rows)
    if waiting:
        line = f"Not run, or not in all columns: {waiting} of {len(experiment.rows)} rows."
        below.append(element("p", line, class_="small none"))
    return join([scrolling(at_scale(experiment.title, measured.scale), table), *below])


def _of_row(measured: Measured, row: TableRow) -> list[MeasuredCell]:
    return [cell for cell in measured.cells if cell.row == row.key]


def _is_shown(measured: Measured, row: TableRow, *, printed: bool) -> bool:
    cells = _of_row(measured, row)
    return any(cell.values or (printed and cell.printed is not None) for cell in cells)


def _labels(row: TableRow, kept: Sequence[int]) -> list[object]:
    """What stands left of the numbers; a scheme by its name, with the moduli that the paper prints in its tooltip."""
    labels: list[object] = [row.labels[i] for i in kept]
    if row.scheme is None:
        return labels
    texts = (_PAPER_LABELS.get(row.scheme), str(row.scheme), row.scheme.name)
    return [named(row.scheme) if _sorted(label) in map(_sorted, texts) else label for label in labels]


def _sorted(label: object) -> tuple[str, ...]:
    """Moduli in any order and with any zeros: "1, 0.33, 0.33" is "0.33, 0.33, 1.00"."""
    parts = str(label).split(", ")
    try:
        return tuple(f"{value:g}" for value in sorted(map(float, parts)))
    except ValueError:
        return tuple(parts)


@dataclass(frozen=True)
class _Look:
    """The look of cells: why they are not compared, if so, the place of warnings, and numbered remarks below."""

    uncompared: str | None
    warnings: str | None
    remarks: tuple[str, ...]


def scrolling(label: str, table: Html) -> Html:
    """A table in a box that scrolls sideways if it is too wide, with the keyboard too."""
    return element("div", table, class_="scroll", role="region", tabindex=0, aria_label=label)


def plain_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], right: int = 0, *, prose: bool = False
) -> Html:
    """A table of text; the last `right` columns are flush right, the first names its row.

    `prose` is for sentences: on a narrow screen its rows are shown as paragraphs, each part with the head it is under.
    """
    first = len(heads) - right
    looks = ["n" if i >= first else "drawn" if head in _DRAWN else None for i, head in enumerate(heads)]
    body = (
        element(
            "tr",
            (
                element("th", cell, scope="row")
                if i == 0
                else element("td", cell, class_=looks[i], data_head=head if prose else None)
                for i, (head, cell) in enumerate(zip(heads, row, strict=True))
            ),
        )
        for row in rows
    )
    names = (element("th", explained(name), scope="col", class_=look) for name, look in zip(heads, looks))
    head = element("thead", element("tr", names))
    title = element("caption", element("span", caption))
    return scrolling(caption, element("table", title, head, element("tbody", body), class_="prose" if prose else None))


def folded(summary: object, content: object, length: int, most: int) -> Html:
    """Content behind its summary: open if it is not longer than `most`, and on paper shown only then."""
    few = length <= most
    return element("details", element("summary", summary), content, open=few, class_=None if few else "long")


def key_to_signs() -> Html:
    """Explain the signs and colours of differences."""
    less = "".join(f"{down} " for _, _, down, size in _SIZES if size)
    words = (
        ("≈", "within one deviation", ""),
        ("△", "one to two above", "up1"),
        ("▲", "two to three", "up2"),
        ("▲" * 2, "three and more", "up3"),
        (less.strip(), "the same below", "down2"),
    )
    signs = join((element("span", sign, " ", word, class_=f"tag {look}") for sign, word, look in words), " ")
    return element(
        "p",
        "Every cell has our number (mean ± sample deviation, number of seeds), the paper's as printed, and ours "
        "less the paper's in points. Its sign and colour say how large that is against the larger of the two standard "
        "deviations: ",
        signs,
        ". Without a sign: no deviation is known.",
    )


def _heads(heads: Sequence[str], columns: Sequence[Column], parts: Sequence[str]) -> list[Html]:
    """The heads of labels and numbers; `parts` are those that every column is taken apart into, if it is."""
    names: list[str] = []
    for column in columns:
        names += parts or [f"{column.title}{', ours only' if column.ours else ''}"]
    return [
        *(element("th", explained(head), scope="col") for head in heads),
        *(element("th", name, scope="col", class_="n") for name in names),
    ]


def _repeats_group(rows: Sequence[TableRow], i: int) -> bool:
    """Return True if a label of every row stands in the heading of its group, as 56 does in "56 layers"."""
    return len(rows[0].labels) > 1 and all(row.labels[i] in row.group for row in rows)


def _line(row: TableRow, labels: Sequence[object], numbers: Sequence[Html], *, marked: bool) -> Html:
    """Make a row; a `marked` one is not in the paper's table."""
    note = element("small", row.note, class_="printed") if row.note else None
    ours = element("small", "our row", class_="printed") if marked else None
    first, *others = labels
    return element(
        "tr", element("th", first, ours, note, scope="row"), (element("td", label) for label in others), numbers
    )


_BEST, _LAST, _PAPER, _DIFFERENCE = "ours, best epoch", "ours, last epoch", "paper", "difference"
_BESIDE, _OURS = (_PAPER, _BEST, _LAST, _DIFFERENCE), (_BEST, _LAST)


def _apart(cell: MeasuredCell | None, look: _Look, parts: Sequence[str]) -> list[Html]:
    """The parts of a number, each in a cell of the table: the paper's, of the best epoch, of the last, difference."""
    if cell is None:
        return [element("td", class_="n")] * len(parts)
    printed = [_number(_printed(cell))] if _PAPER in parts else []
    if not cell.values:
        return [*printed, element("td", _absent(cell, look), class_="n", colspan=len(parts) - len(printed))]
    best = cell.best or cell.last
    return [
        *printed,
        _number(_ours(cell, best), _warning(cell, look)),
        _number(element("span", summary_text(cell.last))),
        *([_number(_difference(cell, look))] if _DIFFERENCE in parts else []),
    ]


def _stacked(cell: MeasuredCell | None, look: _Look) -> Html:
    """Ours, the paper's, and the difference, one below the other."""
    if cell is None:
        return element("td", class_="n")
    if not cell.values:
        return _number(_absent(cell, look), _printed(cell, named=True))
    last = None
    if cell.best is not None and cell.last is not None:
        last = element("span", f"last epoch {cell.last}", class_="printed")
    return _number(
        _ours(cell, cell.compared), _warning(cell, look), last, _printed(cell, named=True), _difference(cell, look)
    )


def _number(*parts: Html | None) -> Html:
    return element("td", parts, class_="n")


def _ours(cell: MeasuredCell, summary: Summary | None) -> Html:
    seeds = f"{len(cell.values)} of {cell.wanted} seeds" if len(cell.values) < cell.wanted else None
    return join(
        [
            element("span", summary_text(summary), class_="ours"),
            element("span", seeds, class_="printed") if seeds else None,
        ]
    )


def summary_text(summary: Summary | None) -> str:
    """91.90 ± 0.19 (3)."""
    if summary is None:
        return ""
    spread = "" if summary.deviation is None else f" ± {summary.deviation:.2f}"
    large = abs(summary.mean) >= 1000
    return (
        f"{summary.mean:,.0f}"
        if large
        else f"{summary.mean:.2f}{spread}" + (f" ({summary.n})" if summary.n > 1 else "")
    )


def _printed(cell: MeasuredCell, named: bool = False) -> Html | None:
    if cell.printed is None:
        return None if named else element("span", "no number", class_="none")
    shown = element("strong", cell.printed.text) if cell.printed.bold else cell.printed.text
    return element("span", "paper " if named else None, shown, class_="printed" if named else None)


def _absent(cell: MeasuredCell, look: _Look) -> Html | None:
    """Nothing if it can still be run, which one line below the table reports; else why there is no number."""
    return None if cell.status == "not run" else element("span", cell.status, _remark(cell, look), class_="none")


def _remark(cell: MeasuredCell, look: _Look) -> Html | None:
    return element("sup", look.remarks.index(cell.note) + 1) if cell.note else None


def _difference(cell: MeasuredCell, look: _Look) -> Html | None:
    if cell.difference is None:
        return None
    if look.uncompared:
        return element("span", look.uncompared, class_="none")
    amount = signed(f"{cell.difference:+.2f}")
    size = cell.difference_in_deviations
    if size is None:
        rounded = cell.printed is not None and abs(cell.difference) <= 1.001 * cell.printed.rounding
        return element("span", "≈ as printed" if rounded else amount, class_="diff")
    more = size >= 0
    up, down, strength = next(entry[1:] for entry in _SIZES if abs(size) >= entry[0])
    colour = f"diff {'up' if more else 'down'}{strength}" if strength else "diff"
    inside = f"{up if more else down}{_GLUE}{amount} ({signed(f'{size:+.1f}')}{_GLUE}sd)"
    return element("span", inside, class_=colour)


def _warning(cell: MeasuredCell, look: _Look) -> Html | None:
    doubtful = cell.doubtful and look.warnings is not None
    return element("a", "⚠ check failed", href=f"#{look.warnings}") if doubtful else None

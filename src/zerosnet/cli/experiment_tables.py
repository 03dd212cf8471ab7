"""Experiments on the terminal: our tables beside the paper's, failed checks, and the paper's sentences."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from zerosnet.cli.output import console, print_table

if TYPE_CHECKING:
    from zerosnet.experiments import (
        Claim,
        Depth,
        Finding,
        Measured,
        MeasuredCell,
        PairFinding,
        Predicted,
        Printed,
        Summary,
        TableRow,
    )

_MANY_ROWS = 40  # a table with more shows those that have numbers, and not all of them
_MANY_WARNINGS = 12  # more failed sanity checks are counted
_NARROW = 6  # characters; folded heads are at least so wide
_TODAY = "~"  # before a prediction that was not registered
TextColumn = tuple[str, list[str]]


def show_table(
    table: "Measured",
    found: "Sequence[Finding | PairFinding]",
    depth: "dict[str, Depth]",
    predicted: "Mapping[str, Predicted] | None" = None,
) -> None:
    """Print our numbers beside the paper's: mean, deviation, number of seeds, and the paper's number in brackets.

    What was predicted stands before what was measured. A row that was not run is marked as such; rows that are not
    shown are counted below. Numbers of a table that is wider than the terminal are rounded.
    """
    from zerosnet.experiments import at_scale

    experiment, states = table.experiment, {row.key: _state(table, row) for row in table.experiment.rows}
    quoted = ", in brackets the paper's" if table.scale != "demo" else ""
    title = f"{at_scale(experiment.title, table.scale)} ({experiment.name}, scale {table.scale}{quoted})"
    if "measured" not in states.values():
        print(f"{title}: {'not run' if 'not run' in states.values() else 'not at this scale'}\n")
        return
    kinds = ("measured",) if len(experiment.rows) > _MANY_ROWS else ("measured", "not run", "quoted only")
    rows = [row for row in experiment.rows if states[row.key] in kinds][:_MANY_ROWS]
    said = {row.key: predicted[row.key] for row in rows if predicted and row.key in predicted}
    room = console().width - (_NARROW + 2) * len(experiment.heads)  # what labels leave, folded as narrow as can be
    numbers = _columns(table, rows, depth, said, short=False)
    if short := _width(numbers) > room:
        numbers = [_folded(column) for column in _columns(table, rows, depth, said, short=True)]
    heads = (*experiment.heads, *(head for head, _ in numbers))
    lines = [(*row.labels, *(texts[n] for _, texts in numbers)) for n, row in enumerate(rows)]
    right = heads[len(experiment.heads) :]
    print_table(title, heads, lines, right=right, whole=right if _width(numbers) <= room else ())
    if short:
        print(f"rounded to fit, the report has all digits; {_seeds(table)}")
    _explain(said)
    hidden = Counter(states[row.key] for row in experiment.rows if row not in rows)
    for state, count in hidden.items():
        print(f"{_HIDDEN.get(state, state)}: {count} of {len(states)} rows")
    _show_warnings([table])
    for finding in found:
        print(f"{finding.column}{f', {finding.group}' if finding.group else ''}: {finding.verdict}")
    print()


def _columns(
    table: "Measured",
    rows: "Sequence[TableRow]",
    depth: "dict[str, Depth]",
    said: "dict[str, Predicted]",
    *,
    short: bool,
) -> list[TextColumn]:
    """The columns of numbers: what was predicted stands before the column that it is about, or at the end."""
    waited = {cell.column for cell in table.cells if cell.values or cell.status == "not run"}
    by_law = {key: one for key, one in said.items() if one.accuracy is not None}
    about = next((one.column for one in by_law.values() if one.column is not None), None)
    found = []
    for column in table.experiment.columns:
        if column.key not in waited:
            continue
        if column.key == about:
            found.append(_accuracies(rows, by_law, "pre-\ndicted" if short else "predicted"))
        found.append((column.title, [_text(table, row.key, column.key, short=short) for row in rows]))
    if by_law and about is None:
        found.append(_accuracies(rows, by_law, "clean,\npre-\ndicted" if short else "clean, predicted"))
    if said and not by_law:
        texts = [
            _blocks(said[row.key].effective_depth, said[row.key].blocks, short) if row.key in said else ""
            for row in rows
        ]
        found.append(("effec-\ntive\ndepth" if short else "effective depth", texts))
    if depth:
        texts = [_blocks(depth[row.key].used, depth[row.key].blocks, short) if row.key in depth else "" for row in rows]
        found.append(("used\ndepth" if short else "used depth", texts))
    return found


def _accuracies(rows: "Sequence[TableRow]", by_law: "dict[str, Predicted]", head: str) -> TextColumn:
    """Predicted accuracies; a forecast that was not registered before training is marked."""
    texts = []
    for row in rows:
        one = by_law.get(row.key)
        texts.append("" if one is None else f"{'' if one.registered else _TODAY}{one.accuracy:.1f}")
    return head, texts


def _blocks(depth: float, blocks: int, short: bool) -> str:
    return f"{depth:.1f}" if short else f"{depth:.1f} of {blocks}"


def _explain(said: "dict[str, Predicted]") -> None:
    """Print where the predictions of a table come from."""
    if not said:
        return
    by_law = [one for one in said.values() if one.accuracy is not None]
    files = sorted({one.registered for one in by_law if one.registered})
    words = [f"registered before training ({', '.join(files)})"] if files else []
    if any(one.registered is None for one in by_law):
        words.append(f"{_TODAY} forecast of the law, fitted without the network")
    if by_law:
        print(f"predicted: {'; '.join(words)}")
    else:
        print(
            "effective depth: predicted from the coefficients; the law predicts no accuracy for these data and recipe"
        )


def _width(columns: Sequence[TextColumn]) -> int:
    """Count the characters of columns that nothing is folded in, with the gaps between them."""
    return sum(_longest((head, *texts)) + 2 for head, texts in columns) - 2


def _longest(texts: Iterable[str]) -> int:
    return max(len(line) for text in texts for line in text.split("\n"))


def _folded(column: TextColumn) -> TextColumn:
    """Fold the head of a column to the width of its numbers."""
    head, texts = column
    return fill(head, max(_longest(texts), _NARROW), break_long_words=False) if "\n" not in head else head, texts


def _seeds(table: "Measured") -> str:
    counts = sorted({len(cell.values) for cell in table.cells if cell.values})
    few, many = counts[0], counts[-1]
    return f"seeds per number: {few}" if few == many else f"seeds per number: {few} to {many}"


_HIDDEN = {"measured": "measured too, in the report"}
"""What is printed about rows that are not shown, if it is not their state."""


def _state(table: "Measured", row: "TableRow") -> str:
    """Find the state of a row: "measured" if it has a number, else the state of the cell that can still be run."""
    cells = [cell for cell in table.cells if cell.row == row.key]
    if any(cell.values for cell in cells):
        return "measured"
    statuses = {cell.status for cell in cells}
    return next((state for state in ("not run", "quoted only") if state in statuses), "not at this scale")


def _text(table: "Measured", row: str, column: str, *, short: bool = False) -> str:
    cell = table.cell(row, column)
    if cell is None:
        return ""
    printed = "" if cell.printed is None or table.scale == "demo" else _quoted(cell.printed, short)
    if cell.compared is None:
        return f"{cell.status}{printed}"
    seeds = "" if cell.status == "measured" else f" (n={len(cell.values)})"
    if short:
        return f"{_rounded(cell.compared)}{_mark(cell).strip()}{printed}"
    return f"{cell.compared}{seeds}{_mark(cell)}{printed}"


def _rounded(one: "Summary") -> str:
    return f"{one.mean:.1f}" + ("" if one.deviation is None else f"±{one.deviation:.1f}")


def _quoted(printed: "Printed", short: bool) -> str:
    return f"\n[{printed.value:.1f}]" if short else f" [{printed.text}]"


def _mark(cell: "MeasuredCell") -> str:
    return " (!)" if cell.doubtful else ""


def _show_warnings(tables: "Sequence[Measured]") -> None:
    """Print failed sanity checks of attacks; the numbers that they are about are marked."""
    found = [
        f"WARNING (!) {run}: {line}" for table in tables for run, lines in table.warnings.items() for line in lines
    ]
    for line in found[:_MANY_WARNINGS]:
        print(line)
    if len(found) > _MANY_WARNINGS:
        print(f"WARNING (!) ... and {len(found) - _MANY_WARNINGS} more sanity checks failed; the report has all")


def show_claims(said: "Sequence[Claim]") -> None:
    """Print the paper's sentences with a verdict each; nothing if there are none."""
    if not said:
        return
    rows = [(claim.verdict, claim.text, claim.because) for claim in said]
    print_table("What the paper says of its own tables, recomputed", ("verdict", "claim", "because"), rows)
    print()

"""Experiments on the terminal: our tables beside the paper's, failed checks, and the paper's sentences."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zerosnet.cli.output import print_table

if TYPE_CHECKING:
    from zerosnet.experiments import Claim, Depth, Finding, Measured, MeasuredCell, PairFinding, TableRow

_MANY_ROWS = 40  # a table with more shows those that have numbers, and not all of them
_MANY_WARNINGS = 12  # more failed sanity checks are counted


def show_table(table: "Measured", found: "Sequence[Finding | PairFinding]", depth: "dict[str, Depth]") -> None:
    """Print our numbers beside the paper's: mean, deviation, number of seeds, and the paper's number in brackets.

    A row that was not run is marked as such; rows that are not shown are counted below.
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
    waited = {cell.column for cell in table.cells if cell.values or cell.status == "not run"}
    columns = [c for c in experiment.columns if c.key in waited]
    heads = (*experiment.heads, *(c.title for c in columns), *(["used depth"] if depth else []))
    lines = []
    for row in rows:
        used = [f"{depth[row.key].used:.1f} of {depth[row.key].blocks}" if row.key in depth else ""] if depth else []
        lines.append((*row.labels, *(_text(table, row.key, c.key) for c in columns), *used))
    print_table(title, heads, lines, right=heads[len(experiment.heads) :])
    hidden = Counter(states[row.key] for row in experiment.rows if row not in rows)
    for state, count in hidden.items():
        print(f"{_HIDDEN.get(state, state)}: {count} of {len(states)} rows")
    _show_warnings([table])
    for finding in found:
        print(f"{finding.column}{f', {finding.group}' if finding.group else ''}: {finding.verdict}")
    print()


_HIDDEN = {"measured": "measured too, in the report"}
"""What is printed about rows that are not shown, if it is not their state."""


def _state(table: "Measured", row: "TableRow") -> str:
    """Find the state of a row: "measured" if it has a number, else the state of the cell that can still be run."""
    cells = [cell for cell in table.cells if cell.row == row.key]
    if any(cell.values for cell in cells):
        return "measured"
    statuses = {cell.status for cell in cells}
    return next((state for state in ("not run", "quoted only") if state in statuses), "not at this scale")


def _text(table: "Measured", row: str, column: str) -> str:
    cell = table.cell(row, column)
    if cell is None:
        return ""
    printed = f" [{cell.printed.text}]" if cell.printed is not None and table.scale != "demo" else ""
    if cell.compared is None:
        return f"{cell.status}{printed}"
    short = "" if cell.status == "measured" else f" (n={len(cell.values)})"
    return f"{cell.compared}{short}{_mark(cell)}{printed}"


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

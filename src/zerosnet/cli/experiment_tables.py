"""Experiments on the terminal: our tables beside the paper's, failed checks, and the paper's sentences."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zerosnet.cli.output import print_table

if TYPE_CHECKING:
    from zerosnet.experiments import Claim, Depth, Difference, Finding, Measured, MeasuredCell, PairFinding, TableRow

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
    heads = (*experiment.heads, *(c.title for c in columns), *(["blocks used"] if depth else []))
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


_FIRST, _ACCURACY = "table-zerosnet-cifar10", "Test acc. (%)"
_DEMO_COLUMNS = (
    (_FIRST, _ACCURACY, "accuracy, %"),
    ("table-robustness", "[-0.08, 0]", "uniform noise"),
    ("table-constant-noise", "mu=0.4", "constant 0.4"),
    ("table-fgsm", "eps=0.3", "FGSM 0.3"),
)
_OTHER_DATA = {"table-fgsm": " MNIST"}  # in the paper; all other columns are of CIFAR-10
_TEN = 10
_STABLE = "stable: zero-stable, no root outside the unit circle and those on it simple"
_USED = (
    "blocks used: the fewest first blocks that keep the accuracy within one point, with f, what a block adds, switched "
    "off in all later ones"
)


def show_demo(
    tables: "Sequence[Measured]",
    found: "Sequence[Sequence[Finding | PairFinding]]",
    depth: "dict[str, Depth]",
    blocks: "Difference | None",
) -> None:
    """Print one table of the ten networks that are there: a column per experiment, and the used blocks."""
    keys = [row.key for row in tables[0].experiment.rows if _is_measured(tables[0], row.key, _ACCURACY)]
    if not keys:
        return
    heads, rows = _ten_networks(tables, keys)
    used = [f"{depth[key].used:.1f} of {depth[key].blocks}" if key in depth else "not run" for key in keys]
    many = "Ten" if len(keys) == _TEN else f"{len(keys)} of the ten"
    title = f"{many} networks of 56 layers, trained on digits (mean±deviation over seeds)"
    print_table(
        title, (*heads, "blocks used"), [(*row, of) for row, of in zip(rows, used)], right=(*heads[2:], "blocks used")
    )
    print(f"{_STABLE}\n{_USED}\n")
    _show_warnings(tables)
    if blocks is not None:
        print(f"blocks used: zero-stable networks {blocks}{'' if blocks.certain else ', undecided'}")
    verdicts = {(one.experiment, one.column): one.verdict for each in found for one in each}
    for name, column, title in _DEMO_COLUMNS:
        if (name, column) in verdicts:
            print(f"{title}: {verdicts[name, column]}")
    print("parasitic modulus: the largest modulus of a root other than 1")
    print("Digits are easy, so accuracies crowd together; real images pull them apart.")
    print("all levels: zerosnet reproduce table-constant-noise (and the others of --list)\n")


def _is_measured(table: "Measured", row: str, column: str) -> bool:
    cell = table.cell(row, column)
    return cell is not None and bool(cell.values)


def _text(table: "Measured", row: str, column: str, seeds: bool = True) -> str:
    cell = table.cell(row, column)
    if cell is None:
        return ""
    printed = f" [{cell.printed.text}]" if cell.printed is not None and table.scale != "demo" else ""
    if cell.compared is None:
        return f"{cell.status}{printed}"
    short = "" if cell.status == "measured" or not seeds else f" (n={len(cell.values)})"
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


def show_recorded(tables: "Sequence[Measured]") -> None:
    """Print the ten networks of the demonstration, if they were measured when this package was made."""
    from zerosnet.experiments import distinct_cells, whole

    first = next((table for table in tables if table.experiment.name == _FIRST), None)
    if first is None:
        return
    keys = [
        row.key for row in first.experiment.rows if row.labels[0] == "56" and _is_measured(first, row.key, _ACCURACY)
    ]
    heads, rows = _ten_networks([whole(table) for table in tables], keys)
    title = "Measured earlier, not by this command: CIFAR-10 where nothing else is said, in brackets the paper's"
    print_table(title, heads, rows, right=heads[2:])
    print("no deviation: one seed")
    _show_warnings(tables)
    measured = (cell for one in tables for cell in one.cells if cell.printed is not None)
    print(f"in all {len(distinct_cells(measured))} numbers: in the report\n")


def _ten_networks(tables: "Sequence[Measured]", keys: "Sequence[str]") -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Make heads and lines of one table for these rows of Table 3, with a column per experiment."""
    by_name = {table.experiment.name: table for table in tables}
    columns = [column for column in _DEMO_COLUMNS if column[0] in by_name]
    lines: list[tuple[str, ...]] = []
    for key in keys:
        _, moduli, stable = by_name[_FIRST].experiment.row(key).labels
        numbers = (
            _text(by_name[name], _like(by_name[name], key, moduli), column, False) for name, column, _ in columns
        )
        lines.append((moduli, stable, *numbers))
    other = {} if tables[0].scale == "demo" else _OTHER_DATA
    return ("roots' moduli", "stable", *(f"{title}{other.get(name, '')}" for name, _, title in columns)), lines


def _like(table: "Measured", key: str, moduli: str) -> str:
    """Find the row of a table that is about the same network as a row of Table 3."""
    rows = table.experiment.rows
    return next((row.key for row in rows if row.key == key or moduli in (row.key, row.labels[0])), moduli)


def show_claims(said: "Sequence[Claim]") -> None:
    """Print the paper's sentences with a verdict each; nothing if there are none."""
    if not said:
        return
    rows = [(claim.verdict, claim.text, claim.because) for claim in said]
    print_table("What the paper says of its own tables, recomputed", ("verdict", "claim", "because"), rows)
    print()


def count_claims(said: "Sequence[Claim]") -> None:
    """Print in one line how many of the paper's sentences hold by its own tables."""
    counts = Counter(claim.verdict for claim in said)
    each = ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
    print(f"The paper's {len(said)} sentences about its own tables, recomputed: {each}; all of them are in the report")

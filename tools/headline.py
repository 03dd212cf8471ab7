"""The result of the ten networks of 56 layers, as one sentence for the README."""

from collections.abc import Sequence
from textwrap import fill

from zerosnet.experiments import EXPERIMENTS, Evidence, Measured, MeasuredCell, TableRow, collect, depths

_TABLE, _LAYERS, _COLUMN = "table-zerosnet-cifar10", "56 layers", "Test acc. (%)"
_NOISES = ("table-uniform-noise", "table-gaussian-noise", "table-constant-noise")
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WIDTH = 120
Sides = dict[bool, list[tuple[TableRow, MeasuredCell]]]


def answer(evidence: Evidence) -> str:
    """Write the accuracies of zero-stable networks and of the others, means over seeds, and the used blocks."""
    table = collect(EXPERIMENTS[_TABLE], evidence, "full")
    sides = _sides(table, _COLUMN)
    if not all(sides.values()):
        return "Nothing has been measured yet."
    stable, others = (_span([cell for _, cell in sides[kind]]) for kind in (True, False))
    words = (
        f"Measured again on CIFAR-10, {_LAYERS}, the paper's schemes and recipe, {_seeds(sides)}: "
        f"the {_COUNTS[len(sides[True])]} zero-stable networks reach {stable}, "
        f"the {_COUNTS[len(sides[False])]} others {others}{_under_noise(evidence)}.{_blocks(table, evidence, sides)}"
    )
    return fill(words, _WIDTH, break_on_hyphens=False, break_long_words=False)


def _sides(table: Measured, column: str) -> Sides:
    """The measured rows of 56 layers with their cells: zero-stable ones, and the others."""
    found: Sides = {True: [], False: []}
    for row in table.experiment.rows:
        cell = table.cell(row.key, column)
        if row.group == _LAYERS and row.zero_stable is not None and cell is not None and cell.values:
            found[row.zero_stable].append((row, cell))
    return found


def _seeds(sides: Sides) -> str:
    """Write the number of seeds in words: "so far one seed", "means of three seeds"."""
    cells = [cell for side in sides.values() for _, cell in side]
    least, most = (pick(len(cell.values) for cell in cells) for pick in (min, max))
    number = _COUNTS[most] if least == most else f"{_COUNTS[least]} to {_COUNTS[most]}"
    so_far = "so far " if any(len(cell.values) < cell.wanted for cell in cells) else ""
    return f"{so_far}{'means of ' if most > 1 else ''}{number} seed{'s' if most > 1 else ''}"


def _span(cells: Sequence[MeasuredCell]) -> str:
    ours = [cell.compared.mean for cell in cells if cell.compared is not None]
    printed = [cell.printed.value for cell in cells if cell.printed is not None]
    return f"{min(ours):.2f} to {max(ours):.2f} % (the paper prints {min(printed):.2f} to {max(printed):.2f})"


def _under_noise(evidence: Evidence) -> str:
    """Count the levels at which every zero-stable network is above every other one."""
    kept = []
    for table in (collect(EXPERIMENTS[name], evidence, "full") for name in _NOISES):
        for column in table.experiment.columns:
            means = {
                kind: [cell.compared.mean for _, cell in side if cell.compared is not None]
                for kind, side in _sides(table, column.key).items()
            }
            if all(means.values()):
                kept.append(min(means[True]) > max(means[False]))
    if not kept:
        return ""
    if all(kept):
        return ", and noise leaves every one of the former above every one of the latter"
    return f", an order of the two kinds that noise leaves as it is at {sum(kept)} of {len(kept)} levels"


def _blocks(table: Measured, evidence: Evidence, sides: Sides) -> str:
    """Write how many blocks the networks use that are not zero-stable, as means over seeds."""
    known = depths(table, evidence)
    found = [known[row.key] for row, _ in sides[False] if row.key in known]
    if not found:
        return ""
    least, most = (f"{pick(one.used for one in found):.0f}" for pick in (min, max))
    first = least if least == most else f"{least} to {most}"
    return (
        " On the right what goes with it: where the scheme is not zero-stable, the state outgrows what blocks add to "
        f"it, and only the first {first} of {found[0].blocks} blocks do anything."
    )

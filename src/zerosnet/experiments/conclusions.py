"""Findings: zero-stable rows against the others, and what goes with accuracy.

The unit is a row, a scheme, with the mean of its seeds: seeds of one scheme are no independent evidence about schemes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.experiments.ablation import Ablation
from zerosnet.experiments.definition import TableRow
from zerosnet.experiments.evidence import NOTHING, Evidence
from zerosnet.experiments.measured import Measured, MeasuredCell, Number
from zerosnet.experiments.run_networks import wiring_of_run
from zerosnet.experiments.statistics import Correlation, Difference, pooled_difference, spearman, welch
from zerosnet.numerics import OPTIMUM, Scheme, root_condition
from zerosnet.training import RunSpec


@dataclass(frozen=True)
class Finding:
    """A column of a group of rows.

    Attributes:
        stable_against_not: Difference of the means over rows, zero-stable less not, with Welch's interval.
        by_modulus: Rank correlation of the number with the largest parasitic modulus.
        by_beta: With the size of beta.
        by_effective_depth: With the effective depth, which follows from the coefficients.
        by_used_blocks: With the used depth, if ablations were made.
        best: The row with the highest number.
        optimum_is_best: None if the paper's optimum is not among the rows.
        verdict: In words.
        numbers: What is compared: findings of the same numbers, printed in two tables, are one.
    """

    experiment: str
    scale: str
    group: str
    column: str
    rows: int
    stable_against_not: Difference | None
    by_modulus: Correlation | None
    by_beta: Correlation | None
    by_effective_depth: Correlation | None
    by_used_blocks: Correlation | None
    best: str
    optimum_is_best: bool | None
    verdict: str
    numbers: frozenset[Number] = frozenset()

    def to_json(self) -> dict[str, Any]:
        each = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "numbers"}
        return {name: value.to_json() if hasattr(value, "to_json") else value for name, value in each.items()}


_NO_INTERVAL = "too few or too equal seeds for an interval"


@dataclass(frozen=True)
class PairFinding:
    """Two rows that differ in what their group is called after: first less second, over seeds, deviations pooled."""

    experiment: str
    scale: str
    group: str
    column: str
    first: str
    second: str
    difference: Difference | None
    verdict: str

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two rows within their group."""
        first, second = (key.removeprefix(f"{self.group}: ") for key in (self.first, self.second))
        return first, second

    @property
    def said(self) -> str:
        """The difference in words, or that there is none, or none that is certain."""
        if self.difference is None:
            return _NO_INTERVAL
        return str(self.difference) + ("" if self.difference.certain else f", {self.difference.verdict}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"difference": None if self.difference is None else self.difference.to_json()}


@dataclass(frozen=True)
class Depth:
    """The depth of a row's networks: predicted from the coefficients, and measured by switching blocks off.

    Attributes:
        effective: Effective depth; None if the coefficients are trained, or the wiring is not known.
        used: Used depth, the mean over the seeds.
    """

    effective: float | None
    used: float
    blocks: int


def parasitic_modulus(scheme: Scheme) -> float:
    """The largest modulus of a root, the principal root 1 left out; 0 if there is no other."""
    return max(map(abs, root_condition(scheme).parasitic_roots), default=0.0)


def depths(measured: Measured, evidence: Evidence) -> dict[str, Depth]:
    """The depth of every row whose runs have ablations."""
    found: dict[str, dict[str, Ablation]] = {}
    for cell in measured.cells:
        for run in cell.runs:
            ablation = evidence.sound[run].ablation if run in evidence.sound else None
            if ablation is not None:
                found.setdefault(cell.row, {})[run] = ablation
    return {
        row: Depth(
            _effective(evidence.sound[next(iter(runs))].record.spec),
            sum(one.used_blocks for one in runs.values()) / len(runs),
            max(one.blocks for one in runs.values()),
        )
        for row, runs in found.items()
    }


def _effective(spec: RunSpec) -> float | None:
    wiring = wiring_of_run(spec)
    return None if wiring is None else wiring.effective_depth()


def findings(measured: Measured, evidence: Evidence = NOTHING) -> list[Finding]:
    """Compare the rows of every group, column by column, if at least two are zero-stable and two are not.

    Args:
        evidence: Runs with ablations, to which numbers are compared too.
    """
    known = depths(measured, evidence)
    experiment = measured.experiment
    found = []
    for group in dict.fromkeys(row.group for row in experiment.rows):
        rows = {row.key: row for row in experiment.rows if row.group == group and row.zero_stable is not None}
        for column in experiment.columns:
            cells = [
                (rows[cell.row], cell)
                for cell in measured.cells
                if cell.column == column.key and cell.row in rows and cell.compared is not None
            ]
            if (one := _finding(measured, group, column.key, cells, known)) is not None:
                found.append(one)
    return found


def pair_findings(measured: Measured) -> list[PairFinding]:
    """Compare pairs: groups of exactly two rows of one of our own experiments, both measured."""
    experiment, found = measured.experiment, []
    for group in dict.fromkeys(row.group for row in experiment.rows if row.group and row.ours):
        rows = [row for row in experiment.rows if row.group == group]
        for column in experiment.columns:
            cells = [cell for row in rows if (cell := measured.cell(row.key, column.key)) is not None and cell.values]
            if len(rows) != 2 or len(cells) != 2:
                continue
            like = [_alike(measured, column.key, row.zero_stable) for row in rows]
            one_kind = rows[0].zero_stable == rows[1].zero_stable
            difference = pooled_difference(
                _compared_values(cells[0]), _compared_values(cells[1]), like[0], None if one_kind else like[1]
            )
            label = f"{rows[0].labels[1]} against {rows[1].labels[1]}"
            verdict = f"{label}: {_pair_verdict(difference, cells)}"
            names = (experiment.name, measured.scale, group, column.key)
            found.append(PairFinding(*names, rows[0].key, rows[1].key, difference, verdict))
    return found


def _alike(measured: Measured, column: str, zero_stable: bool | None) -> list[list[float]]:
    """List the values of all rows that are as stable: unstable networks differ more from seed to seed."""
    keys = {row.key for row in measured.experiment.rows if row.zero_stable == zero_stable}
    return [_compared_values(cell) for cell in measured.cells if cell.column == column and cell.row in keys]


def _compared_values(cell: MeasuredCell) -> list[float]:
    return [value.last if value.best is None else value.best for value in cell.values]


def _pair_verdict(difference: Difference | None, cells: list[MeasuredCell]) -> str:
    if difference is None:
        return f"{cells[0].compared} and {cells[1].compared}, {_NO_INTERVAL}"
    return f"{difference}, {difference.verdict}"


def _finding(
    measured: Measured, group: str, column: str, cells: list[tuple[TableRow, MeasuredCell]], known: Mapping[str, Depth]
) -> Finding | None:
    means = {row.key: cell.compared.mean for row, cell in cells if cell.compared is not None}
    stable = [means[row.key] for row, _ in cells if row.zero_stable]
    others = [means[row.key] for row, _ in cells if not row.zero_stable]
    if len(stable) < 2 or len(others) < 2:
        return None
    difference = welch(stable, others)
    schemes = {row.key: row.scheme for row, _ in cells if row.scheme is not None}
    deep = {key: known[key] for key in means if key in known}

    def by(numbers: Mapping[str, float | None]) -> Correlation | None:
        there = {key: number for key, number in numbers.items() if number is not None}
        return spearman(list(there.values()), [means[key] for key in there])

    by_modulus = by({key: parasitic_modulus(scheme) for key, scheme in schemes.items()})
    by_effective = by({key: depth.effective for key, depth in deep.items()})
    best = max(means, key=means.__getitem__)
    optimum = next((row.key for row, _ in cells if row.scheme == OPTIMUM), None)
    return Finding(
        experiment=measured.experiment.name,
        scale=measured.scale,
        group=group,
        column=column,
        rows=len(cells),
        stable_against_not=difference,
        by_modulus=by_modulus,
        by_beta=by({key: abs(float(scheme.betas[0])) for key, scheme in schemes.items()}),
        by_effective_depth=by_effective,
        by_used_blocks=by({key: depth.used for key, depth in deep.items()}),
        best=best,
        optimum_is_best=None if optimum is None else means[optimum] >= means[best],
        verdict=_verdict(difference, by_modulus, by_effective),
        numbers=frozenset(cell.number for _, cell in cells if cell.number is not None),
    )


def distinct_findings(found: Iterable[Finding]) -> list[Finding]:
    """Keep each comparison once: if several tables print the same numbers, the first counts."""
    kept: dict[object, Finding] = {}
    for one in found:
        kept.setdefault(one.numbers or (one.experiment, one.scale, one.group, one.column), one)
    return list(kept.values())


def _verdict(difference: Difference | None, modulus: Correlation | None, depth: Correlation | None) -> str:
    """Put into words which rows are better, and what goes with the number: effective depth, the modulus or neither."""
    if difference is None:
        said = "no difference: the numbers of both groups do not vary"
    elif not difference.certain:
        said = f"undecided: zero-stable rows differ by {difference}"
    elif difference.mean > 0:
        said = f"zero-stable rows are better by {difference}"
    else:
        said = f"zero-stable rows are worse by {difference}"
    if modulus is None or depth is None:
        return said
    if min(modulus.p, depth.p) > 0.05:
        return f"{said}; neither the parasitic modulus nor the effective depth goes with it"
    tail = "as much as" if abs(depth.rho) >= abs(modulus.rho) - 0.05 else "less than"
    return (
        f"{said}; rank correlation with the parasitic modulus {modulus}, with the effective depth {depth}: depth "
        f"explains {tail} the modulus"
    )

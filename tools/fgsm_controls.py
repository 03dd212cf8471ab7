"""Compare FGSM with PGD and with random signs of the same radius, on all test images.

The unit is a scheme, with the mean of its seeds, as in the findings.
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from zerosnet.experiments import EXPERIMENTS, Evidence, welch
from zerosnet.numerics import Scheme
from zerosnet.report.page.configurations import is_stable
from zerosnet.robustness import ResultRow

HEADS = ("Attack", "eps", "zero-stable, %", "not zero-stable, %", "difference of the means")
_TABLE, _PROTOCOL = "table-fgsm", "paper-fgsm"
_NAMES = {"clean": "none", "fgsm": "FGSM", "pgd-20": "PGD-20", "random signs": "random signs", "huge eps": "PGD-20"}
_SIGNED = 2  # the paper's eps are for inputs in [-1, 1], those of attacks for [0, 1]
Setting = tuple[str, float]


def control_lines(evidence: Evidence) -> list[tuple[str, ...]]:
    """A line for every attack and radius: lowest and highest accuracy of either side, and what they differ by."""
    wanted = set(EXPERIMENTS[_TABLE].specs("full"))
    found: dict[Setting, dict[Scheme, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in evidence.runs:
        attack = run.attacks.get(_PROTOCOL)
        if run.record.spec not in wanted or run.scheme is None or attack is None:
            continue
        whole = max((row.images for row in attack.rows), default=0)
        for row in attack.rows:
            if row.images == whole:
                found[_setting(row)][run.scheme].append(100 * row.accuracy)
    return [_line(setting, schemes) for setting, schemes in found.items()]


def _setting(row: ResultRow) -> Setting:
    return _NAMES.get(row.method, row.method), _SIGNED * (row.eps or 0.0)


def _line(setting: Setting, schemes: dict[Scheme, list[float]]) -> tuple[str, ...]:
    name, eps = setting
    stable, others = ([mean(each) for one, each in schemes.items() if is_stable(one) is kind] for kind in (True, False))
    difference = welch(stable, others)
    return (name, f"{eps:g}", _span(stable), _span(others), "" if difference is None else str(difference))


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}" if values else "not run"

"""A reading: the number of a run that a cell holds, and how to get it out of the run's evidence."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.robustness import PROTOCOLS, ProtocolOptions, ProtocolResult, ResultRow
from zerosnet.training import Result, RunSpec


@dataclass(frozen=True)
class Reading:
    """A number to read from a run: a result of its training, `what`, or if `what` is "attack" a setting of a protocol.

    method, label, eps and images pick the setting: eps in [0, 1], images None for the one with most of them.
    """

    what: str
    protocol: str | None = None
    method: str | None = None
    label: str | None = None
    eps: float | None = None
    images: int | None = None


@dataclass(frozen=True)
class Value:
    """A number that one run gave: `last` at the last epoch, `best` at the best test epoch if that was recorded.

    Attributes:
        warnings: Sanity checks that failed for the attack that gave the number, to be shown wherever it is.
    """

    run: str | None
    seed: int | None
    last: float
    best: float | None = None
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "warnings" or value}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Value":
        return cls(**data | {"warnings": tuple(data.get("warnings", ()))})


ACCURACY = Reading("test accuracy")
TOP5 = Reading("top-5 accuracy")
TRAINING_ACCURACY = Reading("training accuracy")
GAP = Reading("generalisation gap")


def under_noise(label: str) -> Reading:
    return Reading("attack", "paper-noise", "noise", label=label)


CLEAN_UNDER_NOISE = Reading("attack", "paper-noise", "clean")


def read(run: RunEvidence, reading: Reading, images: int | None = None) -> Value | None:
    """The number, accuracies in per cent; None if the run has not given it (yet).

    Args:
        images: How many test images adversarial protocols were measured on; None for all.
    """
    record = run.record
    if record.result is None:
        return None
    if reading.protocol:
        return _under_attack(run, reading, images)
    last, best = map(_percent, _READINGS[reading.what](record.result))
    if reading == GAP:
        training = _percent(record.result.train_accuracy)
        if training is None or last is None or best is None:
            return None
        last, best = training - last, training - best
    return None if last is None else Value(record.id, record.spec.seed, last, best)


# fractions at the last and at the best test epoch
_READINGS: dict[str, Callable[[Result], tuple[float | None, float | None]]] = {
    "test accuracy": lambda result: (result.test_accuracy, result.best_test_accuracy),
    "top-5 accuracy": lambda result: (result.test_top5_accuracy, None),
    "training accuracy": lambda result: (result.train_accuracy, None),
    "generalisation gap": lambda result: (result.test_accuracy, result.best_test_accuracy),
}


def attack_options(protocol: str, images: int | None) -> ProtocolOptions:
    """Only adversarial protocols are shortened: noise costs little."""
    return ProtocolOptions(images=images if PROTOCOLS[protocol].adversarial else None)


def is_attacked(evidence: Evidence, spec: RunSpec, protocol: str, images: int | None) -> bool:
    """Return True if a protocol has been run on a spec's network, or if it diverged and cannot be attacked."""
    run = evidence.get(spec)
    if run is None or run.record.result is None:
        return False
    return run.record.status == "diverged" or run.attack(protocol, attack_options(protocol, images)) is not None


_OTHER_UNITS = {"paper-fgsm": " (eps for images in [0, 1], in the table twice that)"}
"""A remark for protocols whose eps the paper gives in other units than the checks do."""


def _under_attack(run: RunEvidence, reading: Reading, images: int | None) -> Value | None:
    assert reading.protocol is not None
    result = run.attack(reading.protocol, attack_options(reading.protocol, images))
    rows = [
        row
        for row in (() if result is None else result.rows)
        if row.method == reading.method
        and reading.label in (None, row.label)
        and (reading.eps is None or (row.eps is not None and abs(row.eps - reading.eps) < 1e-9))
        and reading.images in (None, row.images)
    ]
    if result is None or not rows:
        return None
    row = max(rows, key=lambda row: row.images)
    units = _OTHER_UNITS.get(reading.protocol, "")
    concerned = [warning for warning in result.warnings if row.access and concerns(warning, row, result)]
    warnings = tuple(f"{result.protocol}{units}: {warning}" for warning in concerned)
    return Value(run.record.id, run.record.spec.seed, round(100 * row.accuracy, 9), warnings=warnings)


def concerns(warning: str, row: ResultRow, result: ProtocolResult) -> bool:
    """Check if a failed check is about a row's method: about all methods if it names none."""
    named = {one.method for one in result.rows if one.access is not None and f"{one.method} " in warning}
    return not named or row.method in named


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else round(100 * fraction, 9)

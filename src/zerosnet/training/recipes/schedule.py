"""Learning-rate schedules: pure functions of the position in the training, as small frozen values.

Each gives the factor by which the recipe's learning rate is multiplied in step `step` (counted from 0) of a training
of `epochs` epochs with `steps_per_epoch` steps each, and describes itself in words.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from zerosnet.errors import InputError


@dataclass(frozen=True)
class Constant:
    """A learning rate that stays the same."""

    kind: ClassVar[str] = "constant"

    def factor(self, step: int, steps_per_epoch: int, epochs: int) -> float:
        return 1.0

    def describe(self, epochs: int) -> str:
        return "constant"


@dataclass(frozen=True)
class StepDecay:
    """A factor `gamma` after each ceil(fraction * epochs) epochs, fraction in `at`, unless those are all epochs.

    In the first `zero_steps` steps the learning rate is 0, as in the first mini-batch of the authors' code.
    """

    kind: ClassVar[str] = "step"
    at: tuple[float, ...] = (0.5, 0.75)
    gamma: float = 0.1
    zero_steps: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.at, list | tuple):
            raise InputError(f"schedule at is {self.at!r}; expected a list of fractions")
        object.__setattr__(self, "at", tuple(self.at))
        if any(not 0 < fraction < 1 for fraction in self.at) or list(self.at) != sorted(set(self.at)):
            raise InputError(f"schedule at is {list(self.at)}; expected increasing fractions between 0 and 1")
        _require("gamma", self.gamma, 0 < self.gamma <= 1, "a factor above 0, at most 1")
        whole = isinstance(self.zero_steps, int)
        _require("zero_steps", self.zero_steps, whole and self.zero_steps >= 0, "0 or more steps")

    def factor(self, step: int, steps_per_epoch: int, epochs: int) -> float:
        if step < self.zero_steps:
            return 0.0
        epoch = step // steps_per_epoch
        return self.gamma ** sum(epoch >= drop for drop in self._drops(epochs))

    def describe(self, epochs: int) -> str:
        drops = " and ".join(f"after {drop}" for drop in self._drops(epochs) if drop < epochs)
        start = {0: "", 1: ", 0 in the first step"}.get(self.zero_steps, f", 0 in the first {self.zero_steps} steps")
        return (f"times {self.gamma} {drops} epochs" if drops else "constant") + start

    def _drops(self, epochs: int) -> list[int]:
        return [math.ceil(fraction * epochs - 1e-9) for fraction in self.at]


@dataclass(frozen=True)
class Cosine:
    """(1 + cos(pi t)) / 2 with t from 0 to 1 after `warmup` epochs of linear rise from 0."""

    kind: ClassVar[str] = "cosine"
    warmup: float = 5.0

    def __post_init__(self) -> None:
        _require("warmup", self.warmup, 0 <= self.warmup < math.inf, "0 or more epochs")

    def factor(self, step: int, steps_per_epoch: int, epochs: int) -> float:
        total, rise = epochs * steps_per_epoch, min(self.warmup, epochs) * steps_per_epoch
        if step < rise:
            return step / rise
        return (1 + math.cos(math.pi * (step - rise) / max(total - rise, 1))) / 2

    def describe(self, epochs: int) -> str:
        rise = min(self.warmup, epochs)
        return (f"up from 0 over {rise:g} epochs, then " if rise else "") + "cosine to 0"


@dataclass(frozen=True)
class OneCycle:
    """Linear from `start` up to 1 over the first `rise` of the training, then linear down to `end`."""

    kind: ClassVar[str] = "one-cycle"
    rise: float = 0.25
    start: float = 0.1
    end: float = 0.0

    def __post_init__(self) -> None:
        _require("rise", self.rise, 0 < self.rise < 1, "a fraction between 0 and 1, exclusive")
        _require("start", self.start, 0 <= self.start <= 1, "a factor from 0 to 1")
        _require("end", self.end, 0 <= self.end <= 1, "a factor from 0 to 1")

    def factor(self, step: int, steps_per_epoch: int, epochs: int) -> float:
        t = (step + 0.5) / (epochs * steps_per_epoch)  # the middle of the step, so that no step has the value `end`
        if t < self.rise:
            return self.start + (1 - self.start) * t / self.rise
        return self.end + (1 - self.end) * (1 - t) / (1 - self.rise)

    def describe(self, epochs: int) -> str:
        return f"up from {self.start} times that over {self.rise * epochs:g} epochs, then down to {self.end} times that"


Schedule = Constant | StepDecay | Cosine | OneCycle
SCHEDULES: dict[str, type[Schedule]] = {s.kind: s for s in (Constant, StepDecay, Cosine, OneCycle)}


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    values = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(schedule).items()}
    return {"kind": schedule.kind, **values}


def schedule_from_json(data: Any) -> Schedule:
    """Read a schedule: a name, "cosine", or an object with `kind` and its settings."""
    settings = dict(data) if isinstance(data, dict) else {"kind": data}
    kind = settings.pop("kind", None)
    if not isinstance(kind, str) or kind not in SCHEDULES:
        raise InputError(f"schedule is {data!r}; expected one of {', '.join(SCHEDULES)}")
    accepted = [f.name for f in fields(SCHEDULES[kind])]
    for key, value in settings.items():
        if key not in accepted:
            raise InputError(f"schedule {kind} has no setting {key!r}; it has {', '.join(accepted) or 'none'}")
        numbers = value if key == "at" and isinstance(value, list | tuple) else [value]
        if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
            raise InputError(f"schedule {key} is {value!r}; expected a number")
    return SCHEDULES[kind](**settings)


def _require(name: str, value: Any, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"schedule {name} is {value!r}; expected {expected}")

"""A recipe as a value: every number that decides the outcome, and nothing about where it runs.

The learning rate follows a schedule, a pure function of the position in the training: it gives the factor on the
recipe's learning rate in step `step` (counted from 0) of `epochs` epochs with `steps_per_epoch` steps each, and
describes itself in words.
"""

import math
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from typing import Any, ClassVar

from zerosnet.data import SCALINGS, Augmentation
from zerosnet.errors import InputError
from zerosnet.files import is_number, is_whole
from zerosnet.robustness import LARGEST_SIGMA
from zerosnet.training.recipes.adversarial import Adversarial

OPTIMISERS = ("sgd", "adam")
_LATER_FIELDS = ("decay_norms", "noise")  # which the oldest records do not have
_MOST = 1_000_000_000  # epochs, or images in a batch


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
        _check("schedule gamma", self.gamma, 0 < self.gamma <= 1, "a factor above 0, at most 1")
        whole = isinstance(self.zero_steps, int)
        _check("schedule zero_steps", self.zero_steps, whole and self.zero_steps >= 0, "0 or more steps")

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
        _check("schedule warmup", self.warmup, 0 <= self.warmup < math.inf, "0 or more epochs")

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
        _check("schedule rise", self.rise, 0 < self.rise < 1, "a fraction between 0 and 1, exclusive")
        _check("schedule start", self.start, 0 <= self.start <= 1, "a factor from 0 to 1")
        _check("schedule end", self.end, 0 <= self.end <= 1, "a factor from 0 to 1")

    def factor(self, step: int, steps_per_epoch: int, epochs: int) -> float:
        t = (step + 0.5) / (epochs * steps_per_epoch)  # the middle of the step, so that no step has the value `end`
        if t < self.rise:
            return self.start + (1 - self.start) * t / self.rise
        return self.end + (1 - self.end) * (1 - t) / (1 - self.rise)

    def describe(self, epochs: int) -> str:
        return f"up from {self.start} times that over {self.rise * epochs:g} epochs, then down to {self.end} times that"


Schedule = Constant | StepDecay | Cosine | OneCycle
SCHEDULES: dict[str, type[Schedule]] = {s.kind: s for s in (Constant, StepDecay, Cosine, OneCycle)}


@dataclass(frozen=True)
class Recipe:
    """A resolved recipe. Every epoch is shuffled anew, and its last partial batch is dropped.

    Attributes:
        optimiser: "sgd" (with `momentum`, `nesterov`) or "adam" (`momentum` is its beta_1, `beta2` its beta_2).
        weight_decay: Added to the gradient, of all parameters but the coefficients of a trainable scheme.
        coefficient_decay: The same for those coefficients; none by default, as it drives them out of the stable region.
        schedule: Factor on `lr`, a pure function of the step.
        decay_norms: Decay batch norms and biases too, as CIFAR's recipes do and ImageNet's do not.
        augmentation: Random crop and flip of the training images.
        scaling: "normalised" (by the data set's mean and std), "unit" ([0, 1]) or "signed" ([-1, 1]).
        reset_momentum: Start every epoch with a fresh optimiser.
        adversarial: Train on adversarial examples; None: on the images as they are.
        noise: Standard deviation of Gaussian noise on the training images, for pixels of [0, 1]; not clipped.

    A default never changes and a later field gets a default that changes nothing, because `identity` leaves defaults
    out: so the id of a run stays what it is.
    """

    name: str
    epochs: int
    batch: int
    lr: float
    schedule: Schedule
    optimiser: str = "sgd"
    momentum: float = 0.9
    nesterov: bool = False
    beta2: float | None = None
    weight_decay: float = 0.0
    coefficient_decay: float = 0.0
    augmentation: Augmentation = Augmentation()  # noqa: RUF009 (frozen)
    scaling: str = "normalised"
    label_smoothing: float = 0.0
    reset_momentum: bool = False
    adversarial: Adversarial | None = None
    decay_norms: bool = True
    noise: float = 0.0

    def __post_init__(self) -> None:
        def check(name: str, holds: bool, expected: str) -> None:
            _check(f"recipe option {name}", getattr(self, name), holds, expected)

        def check_number(name: str, high: float = math.inf) -> None:
            value, end = getattr(self, name), " on" if high == math.inf else f" up to, not including, {high}"
            check(name, is_number(value) and 0 <= value < high, f"a number from 0{end}")

        for name in ("epochs", "batch"):
            given = getattr(self, name)
            check(name, is_whole(given) and 1 <= given <= _MOST, f"1 or more, at most {_MOST:,}")
        for name in ("lr", "weight_decay", "coefficient_decay"):
            check_number(name)
        for name in ("momentum", "label_smoothing"):
            check_number(name, 1)
        noisy = is_number(self.noise) and 0 <= self.noise <= LARGEST_SIGMA
        check("noise", noisy, f"a number from 0 to {LARGEST_SIGMA:g}: the deviation for pixels of [0, 1]")
        check("noise", not self.noise or self.adversarial is None, "0 with adversarial examples")
        for name in ("nesterov", "reset_momentum", "decay_norms"):
            check(name, isinstance(getattr(self, name), bool), "true or false")
        check("optimiser", self.optimiser in OPTIMISERS, f"one of {', '.join(OPTIMISERS)}")
        check("scaling", self.scaling in tuple(SCALINGS), f"one of {', '.join(SCALINGS)}")
        if self.optimiser == "adam":
            check("nesterov", not self.nesterov, "false with adam")
            check_number("beta2", 1)
        else:
            check("beta2", self.beta2 is None, "none with sgd")
            check("nesterov", not self.nesterov or self.momentum > 0, "false without momentum")

    def to_json(self) -> dict[str, Any]:
        """Return all fields, lossless, JSON-ready."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, data: Any) -> "Recipe":
        """Read what `to_json` writes; fields that an older record does not have get their default."""
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            raise InputError(f"recipe is {data!r}; expected an object with a name")
        missing = [f.name for f in fields(cls) if f.default is MISSING and f.name not in data]
        if missing:
            raise InputError(f"recipe {data['name']!r} lacks {', '.join(missing)}; expected a complete record")
        return cls(**read_settings(data))

    def identity(self) -> dict[str, Any]:
        """Return the name and all settings, inner ones too, that are not at their default."""
        return _identity(self)

    def describe(self) -> str:
        """Describe every setting in two lines to print: how it learns, and from what.

        Examples:
            >>> from zerosnet.training import recipe
            >>> recipe("mnist-fgsm", "mnist").describe().partition(",")[0]
            'mnist-fgsm: 20 epochs'
        """
        learning = [
            f"{self.epochs} epoch" + ("s" if self.epochs > 1 else ""),
            f"batch {self.batch} (last partial batch dropped)",
            self._optimiser_in_words(),
            f"lr {self.lr}, {self.schedule.describe(self.epochs)}",
            f"weight decay {self.weight_decay} (norms and biases {self.weight_decay if self.decay_norms else 0.0}, "
            f"coefficients {self.coefficient_decay})",
        ]
        images = [
            f"scaling {self.scaling}",
            self.augmentation.describe(),
            f"label smoothing {self.label_smoothing}",
            "no adversarial examples" if self.adversarial is None else self.adversarial.describe(),
            *([f"Gaussian noise {self.noise}"] if self.noise else []),
        ]
        return f"{self.name}: {', '.join(learning)}\n  {', '.join(images)}"

    def _optimiser_in_words(self) -> str:
        kind = "Nesterov momentum" if self.nesterov else "momentum"
        numbers = f"betas {self.momentum} and {self.beta2}" if self.optimiser == "adam" else f"{kind} {self.momentum}"
        return f"{self.optimiser} with {numbers}" + (", begun anew every epoch" if self.reset_momentum else "")


def is_record(settings: dict[str, Any]) -> bool:
    """Check if settings are a whole recipe, as `to_json` of any version writes it."""
    first = [f.name for f in fields(Recipe) if f.name not in _LATER_FIELDS]
    return all(name in settings for name in first)


def lr_at(recipe: Recipe, step: int, steps_per_epoch: int) -> float:
    """Compute the learning rate of step `step`, counted from 0 over the whole training."""
    return recipe.lr * recipe.schedule.factor(step, steps_per_epoch, recipe.epochs)


def read_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Turn JSON-like settings into arguments of `Recipe`; an unknown one is an error."""
    accepted = [f.name for f in fields(Recipe)]
    for key in settings:
        if key not in accepted:
            raise InputError(f"recipe has no option {key!r}; it has {', '.join(accepted[1:])}")
    return {key: _READERS[key](value) if key in _READERS else value for key, value in settings.items()}


_READERS = {
    "schedule": lambda value: value if isinstance(value, Schedule) else schedule_from_json(value),
    "augmentation": lambda value: value if isinstance(value, Augmentation) else Augmentation.from_json(value),
    "adversarial": lambda value: value if isinstance(value, Adversarial | None) else Adversarial.from_json(value),
}


def _plain(value: Any) -> Any:
    if isinstance(value, Schedule):
        return {"kind": value.kind, **{key: list(v) if isinstance(v, tuple) else v for key, v in asdict(value).items()}}
    return value.to_json() if hasattr(value, "to_json") else value


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


def _identity(value: Any) -> Any:
    if not is_dataclass(value):
        return value
    kind = {"kind": value.kind} if isinstance(value, Schedule) else {}
    settings = {f.name: _identity(v) for f in fields(value) if (v := getattr(value, f.name)) != f.default}
    return {**kind, **settings}


def _check(what: str, value: Any, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"{what} is {value!r}; expected {expected}")

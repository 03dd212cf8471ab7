"""A training as a value: every number that decides the outcome, and nothing about where it runs."""

import math
import sys
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

from zerosnet.checks import is_whole
from zerosnet.data import SCALINGS, Augmentation
from zerosnet.errors import InputError
from zerosnet.training.recipes.adversarial import Adversarial
from zerosnet.training.recipes.schedule import Schedule, schedule_from_json, schedule_to_json

OPTIMISERS = ("sgd", "adam")
_LATER_FIELDS = ("decay_norms", "noise")  # which the oldest records do not have
_MOST = 1_000_000_000  # epochs, or images in a batch


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
        for name in ("epochs", "batch"):
            given = getattr(self, name)
            _check(name, given, is_whole(given) and 1 <= given <= _MOST, f"1 or more, at most {_MOST:,}")
        _number("lr", self.lr, 0, math.inf)
        _number("momentum", self.momentum, 0, 1)
        _number("weight_decay", self.weight_decay, 0, math.inf)
        _number("coefficient_decay", self.coefficient_decay, 0, math.inf)
        _number("label_smoothing", self.label_smoothing, 0, 1)
        _number("noise", self.noise, 0, math.inf)
        _check("noise", self.noise, not self.noise or self.adversarial is None, "0 with adversarial examples")
        for name in ("nesterov", "reset_momentum", "decay_norms"):
            _check(name, getattr(self, name), isinstance(getattr(self, name), bool), "true or false")
        _check("optimiser", self.optimiser, self.optimiser in OPTIMISERS, f"one of {', '.join(OPTIMISERS)}")
        _check("scaling", self.scaling, self.scaling in tuple(SCALINGS), f"one of {', '.join(SCALINGS)}")
        if self.optimiser == "adam":
            _check("nesterov", self.nesterov, not self.nesterov, "false with adam")
            _number("beta2", self.beta2, 0, 1)
        else:
            _check("beta2", self.beta2, self.beta2 is None, "none with sgd")
            _check("nesterov", self.nesterov, not self.nesterov or self.momentum > 0, "false without momentum")

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


def _augmentation(value: Any) -> Augmentation:
    if isinstance(value, Augmentation):
        return value
    if value is None:
        return Augmentation()
    if not isinstance(value, dict) or not set(value) <= {f.name for f in fields(Augmentation)}:
        raise InputError(
            f"augmentation is {value!r}; expected an object with crop (pixels), flip (true or false), area and aspect "
            "(two numbers each)"
        )
    return Augmentation(**value)


_READERS = {
    "schedule": lambda value: value if isinstance(value, Schedule) else schedule_from_json(value),
    "augmentation": _augmentation,
    "adversarial": lambda value: value if isinstance(value, Adversarial | None) else Adversarial.from_json(value),
}


def _plain(value: Any) -> Any:
    if isinstance(value, Schedule):
        return schedule_to_json(value)
    return value.to_json() if hasattr(value, "to_json") else value


def _identity(value: Any) -> Any:
    if not is_dataclass(value):
        return value
    kind = {"kind": value.kind} if isinstance(value, Schedule) else {}
    settings = {f.name: _identity(v) for f in fields(value) if (v := getattr(value, f.name)) != f.default}
    return {**kind, **settings}


def _number(name: str, value: Any, low: float, high: float) -> None:
    good = is_whole(value) or isinstance(value, float)
    expected = f"a number from {low}" + (" on" if high == math.inf else f" up to, not including, {high}")
    most = sys.float_info.max if high == math.inf else high  # an int may be larger than any float
    _check(name, value, good and low <= value < high and value <= most, expected)


def _check(name: str, value: Any, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"recipe option {name} is {value!r}; expected {expected}")

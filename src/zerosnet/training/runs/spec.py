"""A run as values: what it is (model, scheme, data set, recipe, seed: they name its folder), and how it ended."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any

from zerosnet.data import source
from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import is_number, is_whole
from zerosnet.numerics import Number, Scheme, find_stage_change, number
from zerosnet.training.options import PRECISIONS
from zerosnet.training.recipes.book import changes, recipe
from zerosnet.training.recipes.recipe import Recipe, is_record

_REQUIRED = ("model", "dataset", "recipe", "seed")
_OPTIONAL = ("scheme", "precision", "validation", "stage_change", "beta_growth", "init_growth", "block_schemes")
_LARGEST = 3.4e38  # about the largest number of fp32


@dataclass(frozen=True)
class RunSpec:
    """A training, with everything that decides its outcome and nothing about where it runs.

    Device, kernels, and how many networks are trained side by side are not part of it. `scheme` None is the model's
    own; `precision` None is the device's usual one; `validation` None trains on the whole training set.

    Attributes:
        stage_change: What becomes of older states when a stage begins; None is the model's own rule.
        beta_growth: The betas of the n-th multistep block are multiplied by its n-th power, n from 0.
        init_growth: The initial weights of the last convolution of the n-th multistep block are multiplied by its n-th
            power, n from 0.
        block_schemes: One scheme per multistep block, or per block, in place of `scheme`.
    """

    model: str
    dataset: str
    recipe: Recipe
    seed: int
    scheme: Scheme | None = None
    precision: str | None = None
    validation: float | None = None
    stage_change: str | None = None
    beta_growth: Number | str | None = None
    block_schemes: tuple[Scheme, ...] | None = None
    init_growth: Number | str | None = None

    def __post_init__(self) -> None:
        _check_names(self.model, self.dataset)
        if not isinstance(self.recipe, Recipe):
            raise InputError(f"recipe is {self.recipe!r}; expected a Recipe")
        if not is_whole(self.seed) or not 0 <= self.seed < 2**63:
            raise InputError(f"seed is {self.seed!r}; expected a whole number from 0 on, below 2^63")
        if isinstance(self.scheme, str):
            object.__setattr__(self, "scheme", _scheme(self.scheme))
        if not isinstance(self.scheme, Scheme | None):
            raise InputError(f"scheme is {self.scheme!r}; expected a Scheme, or its text")
        if self.scheme is not None:
            check_scheme(self.scheme)
        if self.precision is not None and self.precision not in tuple(PRECISIONS):
            near = did_you_mean(self.precision, PRECISIONS)
            raise InputError(f"precision is {self.precision!r}{near}; expected one of {', '.join(PRECISIONS)}")
        fraction = self.validation
        if fraction is not None and (not isinstance(fraction, float) or not 0 < fraction < 1):
            raise InputError(f"validation is {fraction!r}; expected a fraction between 0 and 1, exclusive")
        self._check_wiring()

    def _check_wiring(self) -> None:
        if self.stage_change is not None:
            find_stage_change(self.stage_change)
        for name in ("beta_growth", "init_growth"):
            if getattr(self, name) is not None:
                growth = number(getattr(self, name), name)
                if growth <= 0:
                    raise InputError(f"{name} is {getattr(self, name)!r}; expected a positive number")
                object.__setattr__(self, name, None if growth == 1 else growth)
        if self.block_schemes is not None:
            if self.scheme is not None or self.beta_growth is not None:
                raise InputError("block_schemes is given with a scheme or beta_growth; expected one of them")
            for scheme in self.block_schemes:
                check_scheme(scheme)

    @property
    def id(self) -> str:
        """The name of the run's folder, such as zerosnet20_opt-cifar10-paper-s1-1a2b3c4d.

        What can be read comes first, the hash of the whole spec ends it. It depends on nothing but the spec: not on
        what a recipe of that name holds today.
        """
        return self._id(4)

    @property
    def long_id(self) -> str:
        """The name of the folder of a run whose `id` is taken by another spec: two specs in billions share one."""
        return self._id(16)

    def _id(self, digest_size: int) -> str:
        words = (self.model, self.dataset, self.recipe.name, f"s{self.seed}")
        readable = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "_", word) for word in words)[:160]
        return f"{readable}-{blake2b(self.canonical().encode(), digest_size=digest_size).hexdigest()}"

    @property
    def rewired(self) -> bool:
        """True if the network differs from the usual one of its scheme: by stage change, growth or block schemes."""
        given = (self.stage_change, self.beta_growth, self.init_growth, self.block_schemes)
        return any(value is not None for value in given)

    @property
    def network_options(self) -> dict[str, Any]:
        """The arguments of `configure` and `create_model` that a spec names."""
        names = ("scheme", "block_schemes", "beta_growth", "init_growth", "stage_change")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def changes(self) -> dict[str, Any]:
        """The options in which the recipe differs from the one of its name."""
        return changes(self.recipe, self.dataset, self.model)

    def canonical(self) -> str:
        """The one text of this spec that is hashed: sorted keys, settings at their default left out."""
        data = {**self.to_json(), "recipe": self.recipe.identity()}
        return json.dumps(_canonical(data), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def to_json(self) -> dict[str, Any]:
        """The whole spec, resolved: a run can be replayed from this record alone."""
        record = {
            "model": self.model,
            "scheme": None if self.scheme is None else self.scheme.to_json(),
            "dataset": self.dataset,
            "recipe": self.recipe.to_json(),
            "seed": self.seed,
        }
        schemes = self.block_schemes
        given = {
            "precision": self.precision,
            "validation": self.validation,
            "stage_change": self.stage_change,
            "beta_growth": _growth_json(self.beta_growth),
            "init_growth": _growth_json(self.init_growth),
            "block_schemes": None if schemes is None else [scheme.to_json() for scheme in schemes],
        }
        return record | {key: value for key, value in given.items() if value is not None}

    @classmethod
    def from_json(cls, data: Any) -> "RunSpec":
        """Read a record, or a shorter form: a scheme as text, a recipe by name or by name with options.

        Examples:
            >>> short = {"model": "zerosnet20", "dataset": "digits", "recipe": "quick", "seed": 1}
            >>> RunSpec.from_json(RunSpec.from_json(short).to_json()) == RunSpec.from_json(short)
            True
        """
        if not isinstance(data, dict):
            raise InputError(f"a spec is {data!r}; expected an object with {', '.join(_REQUIRED)}")
        check_fields(data, "a spec")
        missing = [key for key in _REQUIRED if data.get(key) is None]
        if missing:
            raise InputError(f"a spec lacks {missing[0]!r}; it needs {', '.join(_REQUIRED)}")
        _check_names(data["model"], data["dataset"])
        fields = {
            **data,
            "scheme": _scheme(data.get("scheme")),
            "recipe": _recipe(data),
            "block_schemes": _block_schemes(data.get("block_schemes")),
        }
        return cls(**fields)


def distinct(specs: Iterable[RunSpec]) -> list[RunSpec]:
    """The runs that specs ask for, each once: the first of those that mean the same."""
    runs: dict[str, RunSpec] = {}
    for spec in specs:
        runs.setdefault(spec.canonical(), spec)
    return list(runs.values())


def check_fields(data: dict[str, Any], what: str) -> None:
    """Raise an error if there is a key that is no field of a spec."""
    unknown = sorted(set(data) - {*_REQUIRED, *_OPTIONAL})
    if unknown:
        raise InputError(f"{what} has no field {unknown[0]!r}; it has {', '.join((*_REQUIRED, *_OPTIONAL))}")


def check_scheme(scheme: Scheme) -> None:
    """Raise an error if a coefficient is too large for the numbers that networks compute with."""
    largest = max(abs(float(coefficient)) for coefficient in (*scheme.alphas, *scheme.betas))
    if largest > _LARGEST:
        raise InputError(f"scheme has a coefficient of size {largest:.3g}; expected at most {_LARGEST:.3g}")


def _check_names(model: Any, dataset: Any) -> None:
    if not isinstance(model, str) or not model:
        raise InputError(f"model is {model!r}; expected a model's name")
    source(dataset)


def _scheme(value: Any) -> Scheme | None:
    if value is None or isinstance(value, Scheme):
        return value
    try:
        return Scheme.parse(value) if isinstance(value, str) else Scheme.from_json(value)
    except InputError as error:
        raise InputError(f"scheme: {error}") from None


def _block_schemes(value: Any) -> tuple[Scheme, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not value:
        raise InputError(f"block_schemes is {value!r}; expected a list of schemes, one per block")
    return tuple(found for one in value if (found := _scheme(one)) is not None)


def _growth_json(growth: Number | str | None) -> str | float | None:
    return growth if growth is None or isinstance(growth, float) else str(growth)


def _recipe(data: dict[str, Any]) -> Recipe:
    value, dataset, model = (data[key] for key in ("recipe", "dataset", "model"))
    if isinstance(value, str):
        return recipe(value, dataset, model)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and not is_record(value):
        options = {key: setting for key, setting in value.items() if key != "name"}
        return recipe(value["name"], dataset, model, **options)
    return Recipe.from_json(value)


def _canonical(value: Any) -> Any:
    """Write equal numbers alike, 1 and 1.0, and tuples as lists."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


STATUSES = ("finished", "diverged")
_WORDS = ("status", "reason")


@dataclass(frozen=True)
class Result:
    """The end of a run; accuracies are fractions, epochs are counted from 1.

    test_*            at the last epoch: the number to compare with; top5: one of the best five answers is right
    best_*            the best test epoch, reported because the paper reports it; nothing is selected by it
    train_*           on the training images without augmentation, in eval mode, at the end
    validation_*      on the images that were cut off the training set, at the end, if there are some
    seconds           time of training, summed over all pieces in which it was done; of a fused run its share
    test_images       those that could be decoded, if files were skipped
    skipped_files     how many, training files included, as the process that writes has met them
    reason            of a diverged run: what was seen, and when

    A diverged run has no accuracies but the best it had before.
    """

    status: str
    epochs: int
    seconds: float
    test_accuracy: float | None = None
    test_loss: float | None = None
    best_epoch: int | None = None
    best_test_accuracy: float | None = None
    train_accuracy: float | None = None
    train_loss: float | None = None
    validation_accuracy: float | None = None
    validation_loss: float | None = None
    test_top5_accuracy: float | None = None
    test_images: int | None = None
    skipped_files: int | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InputError(f"status is {self.status!r}; expected one of {', '.join(STATUSES)}")
        if self.status == "finished" and self.test_accuracy is None:
            raise InputError("a finished run has a test_accuracy")
        for name, value in asdict(self).items():
            if name not in _WORDS and value is not None and not is_number(value):
                raise InputError(f"{name} is {value!r}; expected a finite number, or none")

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Any) -> "Result":
        known = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or not {"status", "epochs", "seconds"} <= set(data):
            raise InputError(f"a result is {data!r}; expected an object with status, epochs and seconds")
        return cls(**{key: value for key, value in data.items() if key in known})

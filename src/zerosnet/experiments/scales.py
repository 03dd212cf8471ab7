"""The size at which an experiment is run: on embedded data, shortened on the real data, or as in the paper."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from zerosnet.data import source
from zerosnet.errors import InputError, did_you_mean
from zerosnet.numerics import Scheme
from zerosnet.training import Recipe, RunSpec, recipe


@dataclass(frozen=True)
class TrainingPlan:
    """A training for a number, the seed aside, with the paper's settings.

    Attributes:
        options: Changes to the recipe.
        demo: True if it makes sense on embedded data, and is small enough for minutes on a CPU.
        demo_seeds: How many seeds the demo scale takes.
    """

    model: str
    dataset: str = "cifar10"
    recipe: str = "paper"
    scheme: Scheme | None = None
    options: tuple[tuple[str, Any], ...] = ()
    demo: bool = True
    demo_seeds: int = 2

    def resolved(self) -> Recipe:
        return recipe(self.recipe, self.dataset, self.model, **dict(self.options))


Settings = tuple[str, Recipe] | None


@dataclass(frozen=True)
class Scale:
    """A size of experiments: how their trainings are changed.

    Attributes:
        settings: Data set and recipe; None leaves the training out.
        seeds: None: all that the experiment asks for.
        images: How many test images adversarial protocols take; None: all.
        only: Shell patterns of run ids, such as "*56*-s1-*"; runs that match none are left out. Empty: all.
    """

    name: str
    what: str
    settings: Callable[[TrainingPlan], Settings]
    seeds: tuple[int, ...] | None = None
    images: int | None = None
    only: tuple[str, ...] = ()

    def specs(self, training: TrainingPlan, seeds: Sequence[int]) -> list[RunSpec]:
        """The runs of a training at this scale, one per seed."""
        settings = self.settings(training)
        if settings is None:
            return []
        dataset, resolved = settings
        chosen = seeds if self.seeds is None else self.seeds[: training.demo_seeds]
        specs = [RunSpec(training.model, dataset, resolved, seed, scheme=training.scheme) for seed in chosen]
        return [spec for spec in specs if not self.only or any(fnmatchcase(spec.id, one) for one in self.only)]


DEMO_RECIPE = recipe("quick", "digits", epochs=6)


def _demo(training: TrainingPlan) -> Settings:
    if not training.demo:
        return None
    return (training.dataset, training.resolved()) if source(training.dataset).embedded else ("digits", DEMO_RECIPE)


def _reduced(training: TrainingPlan) -> Settings:
    if source(training.dataset).embedded:
        return None
    whole = training.resolved()
    shorter = {**dict(training.options), "epochs": -(-whole.epochs // 4)}
    return training.dataset, recipe(training.recipe, training.dataset, training.model, **shorter)


SCALES = {
    one.name: one
    for one in (
        Scale("demo", "embedded data, a short schedule: shows an effect, is no measurement", _demo, (1, 2), 100),
        Scale("reduced", "the paper's data and recipe with a quarter of the epochs, one seed", _reduced, (1,)),
        Scale("full", "the paper's settings, three seeds", lambda one: (one.dataset, one.resolved())),
    )
}


_DATA = re.compile(r"\b(CIFAR-10|MNIST)\b")


def at_scale(words: str, name: str) -> str:
    """Name the data that an experiment is run on at a scale: the demo has digits in place of images."""
    return _DATA.sub("digits", words) if name == "demo" else words


def scale(name: "str | Scale") -> Scale:
    if isinstance(name, Scale):
        return name
    if name not in SCALES:
        raise InputError(f"scale is {name!r}{did_you_mean(name, SCALES)}; expected one of {', '.join(SCALES)}")
    return SCALES[name]

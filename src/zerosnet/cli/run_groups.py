"""Runs that differ by their seed only, for listings: how they are filtered, grouped, sorted and written."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from statistics import mean, stdev
from typing import TYPE_CHECKING

from zerosnet.environment import ORIGIN_MARKS
from zerosnet.errors import InputError, did_you_mean
from zerosnet.experiments import scheme_of_run
from zerosnet.numerics import Scheme, name_of_schemes

if TYPE_CHECKING:
    from zerosnet.training import RunRecord, RunSpec

STATUSES = ("finished", "running", "stopped", "diverged")
_WIRING = {
    "precision": "precision",
    "validation": "validation",
    "stage_change": "stage change",
    "beta_growth": "beta growth",
    "init_growth": "init growth",
}


@dataclass(frozen=True)
class RunGroup:
    """Runs of one spec but for the seed, at least one."""

    records: "tuple[RunRecord, ...]"

    @property
    def spec(self) -> "RunSpec":
        return self.records[0].spec

    @property
    def setting(self) -> str:
        """Data set and recipe, with what was changed in it."""
        changed = ", ".join(f"{key} {value}" for key, value in self.spec.changes.items())
        return f"{self.spec.dataset}, recipe {self.spec.recipe.name}{f' ({changed})' if changed else ''}"

    @property
    def network(self) -> str:
        return network_text(self.spec)

    @property
    def scheme_text(self) -> str:
        return scheme_text(self.spec)

    @property
    def origin_mark(self) -> str:
        """The mark of runs whose code is that of no commit; empty if that is true of none."""
        problems = {record.summary()["origin_problem"] for record in self.records}
        return next((mark for problem, mark in ORIGIN_MARKS.items() if problem in problems), "")

    def marked(self, name: str) -> str:
        """Write a name with the mark of its runs."""
        return f"{name} {self.origin_mark}".strip()

    @property
    def status_text(self) -> str:
        """How many runs there are of every status: "3", or "2 finished, 1 stopped"."""
        counts = {name: sum(record.status == name for record in self.records) for name in STATUSES}
        there = {name: count for name, count in counts.items() if count}
        if list(there) == ["finished"]:
            return str(len(self.records))
        return ", ".join(f"{count} {name}" for name, count in there.items())

    def values(self, name: str) -> list[float]:
        """The numbers of this name that results have, accuracies as fractions."""
        results = [record.result for record in self.records if record.result is not None]
        return [value for result in results if (value := getattr(result, name)) is not None]

    def spread_text(self, name: str) -> str:
        """Write mean and sample deviation of an accuracy in per cent; the number alone if there is one run."""
        return spread_text([100 * value for value in self.values(name)])


def spread_text(values: Sequence[float]) -> str:
    """Write mean and sample deviation of several numbers.

    Examples:
        >>> spread_text([91.0, 93.0]), spread_text([91.0]), spread_text([])
        ('92.00 ± 1.41', '91.00', '')
    """
    if not values:
        return ""
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def network_text(spec: "RunSpec") -> str:
    """Write the model of a run, and what was changed in its wiring or arithmetic."""
    given = {words: getattr(spec, name) for name, words in _WIRING.items()}
    return ", ".join([spec.model, *(f"{words} {value}" for words, value in given.items() if value is not None)])


def scheme_text(spec: "RunSpec") -> str:
    """Write the scheme of a run by its name, also if it is the model's own."""
    if spec.block_schemes is not None:
        return name_of_schemes(spec.block_schemes)
    scheme = scheme_of_run(spec)
    return "trained" if scheme is None else scheme.short_name


def grouped(records: "Iterable[RunRecord]", *, each: bool = False) -> list[RunGroup]:
    """Group runs that differ by their seed only, seeds in order; with `each` every run is a group."""
    alike: dict[str, list[RunRecord]] = {}
    for record in records:
        alike.setdefault(record.id if each else replace(record.spec, seed=0).canonical(), []).append(record)
    return [RunGroup(tuple(sorted(group, key=lambda one: one.spec.seed))) for group in alike.values()]


_NUMBERS = {
    "test": "test_accuracy",
    "best": "best_test_accuracy",
    "train": "train_accuracy",
    "seconds": "seconds",
}


def sort_groups(by: str) -> Callable[[list[RunGroup]], list[RunGroup]]:
    """Make the function that sorts groups: by name, or by a number from the highest down, missing ones last."""
    accepted = ("name", *_NUMBERS)
    if by not in accepted:
        raise InputError(f"sort is {by!r}{did_you_mean(by, accepted)}; expected one of {', '.join(accepted)}")
    if by == "name":
        return lambda groups: sorted(
            groups, key=lambda group: (group.setting, group.network, group.scheme_text, group.records[0].id)
        )

    def number(group: RunGroup) -> float:
        values = group.values(_NUMBERS[by])
        return -mean(values) if values else float("inf")

    return lambda groups: sorted(groups, key=number)


@dataclass(frozen=True)
class RunFilter:
    """The runs to list; None lets all through."""

    model: str | None = None
    dataset: str | None = None
    scheme: Scheme | None = None
    status: str | None = None

    @classmethod
    def parse(cls, model: str | None, dataset: str | None, scheme: str | None, status: str | None) -> "RunFilter":
        if status is not None and status not in STATUSES:
            near = did_you_mean(status, STATUSES)
            raise InputError(f"status is {status!r}{near}; expected one of {', '.join(STATUSES)}")
        return cls(model, dataset, None if scheme is None else Scheme.parse(scheme), status)

    def lets_through(self, record: "RunRecord") -> bool:
        spec = record.spec
        return (
            (self.model is None or fnmatchcase(spec.model, self.model))
            and (self.dataset is None or fnmatchcase(spec.dataset, self.dataset))
            and (self.scheme is None or scheme_of_run(spec) == self.scheme)
            and (self.status is None or record.status == self.status)
        )

    def describe(self) -> str:
        """Write what is asked for: "a zerosnet20 on digits, finished"."""
        words = [] if self.model is None else [f"a {self.model}"]
        words += [] if self.scheme is None else [f"of scheme {self.scheme.name}"]
        words += [] if self.dataset is None else [f"on {self.dataset}"]
        words += [] if self.status is None else [self.status]
        return ", ".join(words)

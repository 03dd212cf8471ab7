"""`zerosnet sweep --dry-run`: what would run, what would be trained as one, and about how long it would take.

Data decide which runs are trained as one. Without the folder of data that are read from files, runs and times are
listed, and no groups.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zerosnet.cli import output
from zerosnet.cli.options import begin
from zerosnet.cli.run_groups import network_text, scheme_text

if TYPE_CHECKING:
    from zerosnet.training import Options, RunSpec, Store

_IN_STORE, _MEASURED = "finished runs in this store", "rates that come with the package"
_BY_BYTES = "the bytes that several streams move, which were not timed"


@dataclass(frozen=True)
class PlannedGroup:
    """Runs that would be trained as one, and the seconds they would take; None if nothing is known."""

    specs: "tuple[RunSpec, ...]"
    seconds: float | None
    source: str | None

    def to_json(self) -> dict[str, Any]:
        return {"runs": [spec.id for spec in self.specs], "seconds": self.seconds, "estimated_from": self.source}


@dataclass(frozen=True)
class AskedRuns:
    """The runs that are asked for, each once, those that have not ended, and ids of those that have or have begun."""

    wanted: "list[RunSpec]"
    waiting: "list[RunSpec]"
    ended: list[str]
    begun: list[str]

    @classmethod
    def of(cls, specs: "Sequence[RunSpec]", store: "Store") -> "AskedRuns":
        from zerosnet.training import distinct

        known = [(spec, store.get(spec)) for spec in distinct(specs)]
        records = [record for _, record in known if record is not None]
        return cls(
            [spec for spec, _ in known],
            [spec for spec, record in known if record is None or record.result is None],
            [record.id for record in records if record.result is not None],
            [record.id for record in records if record.result is None],
        )

    def describe(self) -> str:
        new = len(self.waiting) - len(self.begun)
        return f"{len(self.wanted)} runs: {len(self.ended)} have ended, {len(self.begun)} to be continued, {new} new"

    def to_json(self) -> dict[str, Any]:
        return {"ended": self.ended, "begun": self.begun}


def show_plan(specs: "Sequence[RunSpec]", folder: str, options: "Options", json: bool) -> None:
    """Print what a training of these runs would do, in the store of that folder; nothing is written."""
    from zerosnet.data import source
    from zerosnet.models import check_model
    from zerosnet.training import Store

    for spec in specs:
        check_model(spec.model, spec.scheme, block_schemes=spec.block_schemes is not None)
    asked = AskedRuns.of(specs, Store(folder))
    if options.data is None and not all(source(spec.dataset).embedded for spec in asked.waiting):
        _show_runs(asked, json)
        return
    begin(specs, folder, options, trains=False)
    _show_groups(asked, Store(folder), options, json)


def _show_runs(asked: AskedRuns, json: bool) -> None:
    """Print the runs that have not ended, and their time on one H200; groups are not known."""
    from zerosnet.experiments import cost, is_estimated
    from zerosnet.training import duration

    seconds = cost(asked.waiting).gpu_seconds
    if json:
        waiting = [spec.id for spec in asked.waiting]
        unknown = {"groups": None, "groups_at_once": None, "seconds": None}
        output.print_json({**asked.to_json(), "waiting": waiting, **unknown, "seconds_on_one_h200": seconds})
        return
    print(asked.describe())
    for dataset, epochs in dict.fromkeys((spec.dataset, spec.recipe.epochs) for spec in asked.waiting):
        print(f"\n{dataset}, {epochs} epochs")
        for line in _lines([s for s in asked.waiting if (s.dataset, s.recipe.epochs) == (dataset, epochs)]):
            print(f"  {line}")
    by = " and ".join(dict.fromkeys(_BY_BYTES if is_estimated(spec) else _MEASURED for spec in asked.waiting))
    about = "no time known" if seconds is None else f"about {duration(seconds)} on one H200 in full groups (by {by})"
    print(f"\nIn all {about}. Nothing was trained. To see what is trained as one, give --data DIR.")


def _show_groups(asked: AskedRuns, store: "Store", options: "Options", json: bool) -> None:
    """Print the groups that are trained as one, and their time on this machine."""
    from zerosnet.training import duration, plan_runs

    plan = plan_runs(asked.wanted, store, options, all_gpus=True)
    groups = [_planned(group, store, options.device) for group in plan.groups]
    seconds = _total(group.seconds for group in groups)
    if seconds is not None:
        seconds /= max(plan.at_once, 1)
    if json:
        document = {**asked.to_json(), "groups": [group.to_json() for group in groups]}
        output.print_json({**document, "groups_at_once": plan.at_once, "seconds": seconds})
        return
    print(asked.describe())
    for number, group in enumerate(groups, start=1):
        first = group.specs[0]
        about = "" if group.seconds is None else f", about {duration(group.seconds)}"
        as_one = "1 network" if len(group.specs) == 1 else f"{len(group.specs)} networks as one"
        print(f"\ngroup {number}: {as_one}, {first.model} on {first.dataset}, {first.recipe.epochs} epochs{about}")
        for line in _lines(group.specs):
            print(f"  {line}")
    if groups:
        sources = ", ".join(dict.fromkeys(group.source for group in groups if group.source is not None))
        whole = f"about {duration(seconds)} (by {sources})" if seconds is not None else "no time known for some of it"
        side_by_side = f", {plan.at_once} groups at a time" if plan.at_once > 1 else ""
        print(f"\nIn all {whole}{side_by_side}. Nothing was trained.")


def _lines(specs: "Sequence[RunSpec]") -> list[str]:
    """Write the schemes of a group, each with its seeds."""
    seeds: dict[str, list[int]] = {}
    for spec in specs:
        seeds.setdefault(f"{network_text(spec)}, {scheme_text(spec)}", []).append(spec.seed)
    return [
        f"{name}: seed{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}" for name, found in seeds.items()
    ]


def _planned(specs: "Sequence[RunSpec]", store: "Store", device: str) -> PlannedGroup:
    """Estimate a group's time: by the store's runs of that kind, or by the rates that the package has."""
    from zerosnet.experiments import is_estimated

    seconds, source = _by_store(specs, store), _IN_STORE
    if seconds is None:
        seconds, source = _by_rates(specs, device), _BY_BYTES if is_estimated(specs[0]) else _MEASURED
    return PlannedGroup(tuple(specs), seconds, None if seconds is None else source)


def _by_store(specs: "Sequence[RunSpec]", store: "Store") -> float | None:
    """Add up what finished runs of the same network, data and kind of recipe took per epoch."""
    paces: dict[tuple[str, str, bool], list[float]] = {}
    for record in store.scan()[0]:
        if record.result is not None and record.status == "finished" and record.result.epochs:
            paces.setdefault(_kind(record.spec), []).append(record.result.seconds / record.result.epochs)
    return _total(
        spec.recipe.epochs * sum(found) / len(found) if (found := paces.get(_kind(spec))) else None for spec in specs
    )


def _kind(spec: "RunSpec") -> tuple[str, str, bool]:
    return spec.model.partition("_")[0], spec.dataset, spec.recipe.adversarial is not None


def _by_rates(specs: "Sequence[RunSpec]", device: str) -> float | None:
    from zerosnet.experiments import cost, group_seconds
    from zerosnet.training import find_device

    return group_seconds(specs) if find_device(device).type == "cuda" else cost(specs).cpu_seconds


def _total(parts: "Iterable[float | None]") -> float | None:
    known = list(parts)
    return None if any(part is None for part in known) else sum(part or 0.0 for part in known)

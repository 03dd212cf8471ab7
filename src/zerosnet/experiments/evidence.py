"""Everything that stores hold, read once: tables, findings and pages are functions of it.

A file that cannot be read is named in `Evidence.problems`, and nothing else is lost with it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from zerosnet import files
from zerosnet.errors import InputError
from zerosnet.experiments.ablation import Ablation, read_ablation
from zerosnet.experiments.run_networks import scheme_of_run
from zerosnet.files import is_number
from zerosnet.numerics import Scheme
from zerosnet.robustness import ProtocolOptions
from zerosnet.robustness import ProtocolResult as Attack
from zerosnet.training import RunRecord, RunSpec, Store, pick_attack, read_metrics

T = TypeVar("T")


@dataclass(frozen=True)
class RunEvidence:
    """A run with everything that lies in its folder.

    Attributes:
        attacks: By file name: a protocol, or a protocol with what was reduced in it, "paper-noise+images=500".
        whole: True if every file in the folder could be read.
    """

    store: Path
    record: RunRecord
    metrics: list[dict[str, Any]] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    attacks: dict[str, Attack] = field(default_factory=dict)
    ablation: Ablation | None = None
    whole: bool = True

    @property
    def scheme(self) -> Scheme | None:
        """The fixed scheme; None if the coefficients are trained, or if every block has its own."""
        return scheme_of_run(self.record.spec)

    @property
    def progress(self) -> tuple[bool, int, int]:
        """A key to compare copies of a run by: ended or not, epochs, measurements."""
        result = self.record.result
        epochs = len(self.metrics) if result is None else result.epochs
        return result is not None, epochs, len(self.attacks)

    def attack(self, protocol: str, options: ProtocolOptions | None = None) -> Attack | None:
        """The result of a protocol; None if it has not been run."""
        return pick_attack(self.attacks.get, protocol, options)


@dataclass(frozen=True)
class Evidence:
    """All runs of some stores, each once and ordered by id, and a line for every damaged file.

    Attributes:
        stores: The folders of the stores that exist.
    """

    stores: tuple[Path, ...] = ()
    runs: tuple[RunEvidence, ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def sound(self) -> Mapping[str, RunEvidence]:
        """The runs without a damaged file, by id: tables are made of these."""
        return {run.record.id: run for run in self.runs if run.whole}

    @cached_property
    def _by_id(self) -> Mapping[str, RunEvidence]:
        return {run.record.id: run for run in self.runs}

    def get(self, spec: RunSpec) -> RunEvidence | None:
        """The run of a spec, damaged files or not; None if no store has it."""
        return self._by_id.get(spec.id)

    def has_ended(self, spec: RunSpec) -> bool:
        """Return True if the run of a spec has finished or diverged."""
        run = self.get(spec)
        return run is not None and run.record.result is not None


NOTHING = Evidence()


def read_evidence(stores: Store | Iterable[Store]) -> Evidence:
    """Read every run of some stores.

    If a run is in several stores, one that has ended beats one that has not; then more epochs count, then more
    measurements, then the order of the stores.
    """
    chosen = [stores] if isinstance(stores, Store) else list(stores)
    problems: list[str] = []
    runs: dict[str, RunEvidence] = {}
    for store in chosen:
        records, damaged = store.scan()
        problems += damaged
        for record in records:
            run = _read_run(store.root, record, problems)
            known = runs.get(record.id)
            if known is None or run.progress > known.progress:
                runs[record.id] = run
    ordered = tuple(runs[key] for key in sorted(runs))
    there = tuple(store.root for store in chosen if store.root.exists())
    return Evidence(there, ordered, tuple(problems))


def _read_run(store: Path, record: RunRecord, problems: list[str]) -> RunEvidence:
    folder = record.folder
    known = len(problems)

    def read(path: Path, parse: Callable[[Path], T], otherwise: T) -> T:
        if not path.exists():
            return otherwise
        try:
            return parse(path)
        except (OSError, RecursionError, TypeError, ValueError) as error:
            problems.append(str(error) if str(path) in str(error) else f"{path} cannot be read: {error}")
            return otherwise

    attacks = {}
    for path in sorted(folder.glob("attacks/*.json")):
        attack = read(path, _attack, None)
        if attack is not None:
            attacks[path.stem] = attack
    return RunEvidence(
        store,
        record,
        metrics=read(folder / "metrics.jsonl", lambda _: _metrics(folder), []),
        environment=read(folder / "environment.json", _object, {}),
        attacks=attacks,
        ablation=read(folder / "ablation.json", lambda _: _ablation(record), None),
        whole=len(problems) == known,
    )


def _object(path: Path) -> dict[str, Any]:
    data = files.read_json(path)
    if not isinstance(data, dict):
        raise InputError("not an object")
    return data


def _metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows whose epoch is a number; a field that is no number is left out of its row."""
    rows = [row for row in read_metrics(folder) if is_number(row.get("epoch"))]
    return [{key: value for key, value in row.items() if is_number(value)} for row in rows]


def _attack(path: Path) -> Attack | None:
    attack = files.read_value(path, Attack.from_json)
    for row in attack.rows:
        numbers = (row.accuracy, row.images, 0 if row.eps is None else row.eps)
        if not all(map(is_number, numbers)) or not isinstance(row.settings, dict):
            raise InputError(f"row {row.label!r} has an accuracy, eps or number of images that is no number")
    return attack


def _ablation(record: RunRecord) -> Ablation | None:
    found = read_ablation(record)
    if found is not None:
        ratios = [ratio for ratio in found.ratios if ratio is not None]
        numbers = (found.images, found.accuracy, found.effective_depth, *found.accuracy_without, *ratios)
        if not all(map(is_number, numbers)) or len(found.ratios) != found.blocks:
            raise InputError("expected numbers, one ratio per block")
    return found

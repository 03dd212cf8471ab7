"""What stores hold, read once for the page: whatever cannot be read is named, and nothing else is lost with it."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from zerosnet.errors import InputError
from zerosnet.experiments import Ablation, read_ablation
from zerosnet.models import REGISTRY
from zerosnet.numerics import Scheme
from zerosnet.robustness import ProtocolResult as Attack
from zerosnet.training import RunRecord, Store, read_metrics


@dataclass(frozen=True)
class RunEvidence:
    """A run with all that lies in its folder."""

    store: Path
    record: RunRecord
    metrics: Sequence[dict[str, Any]]
    environment: dict[str, Any]
    attacks: dict[str, Attack] = field(default_factory=dict)
    """By file name: a protocol, or a protocol with what was reduced in it, "paper-noise+images=500"."""
    ablation: Ablation | None = None
    whole: bool = True
    """Nothing in its folder is damaged."""

    @property
    def scheme(self) -> Scheme | None:
        """The fixed scheme; None where the coefficients are trained."""
        return self.record.spec.scheme or own_scheme(self.record.spec.model)


@dataclass(frozen=True)
class Evidence:
    """All runs of all stores, each once, and a line for everything that is damaged."""

    stores: tuple[Path, ...]
    runs: tuple[RunEvidence, ...]
    problems: tuple[str, ...]


def read_evidence(stores: Iterable[Store]) -> Evidence:
    """Read every run; of a run that is in several stores the one that has got farther counts."""
    stores = tuple(stores)
    problems: list[str] = []
    runs: dict[str, RunEvidence] = {}
    for store in stores:
        records, damaged = store.scan()
        problems += damaged
        for record in records:
            if wrong := _wrong_numbers(record):
                problems.append(f"{record.folder / 'result.json'}: {', '.join(wrong)} should be numbers")
                continue
            run = _read_run(store.root, record, problems)
            before = runs.get(record.id)
            if before is None or _progress(run) > _progress(before):
                runs[record.id] = run
    return Evidence(tuple(store.root for store in stores), tuple(runs[key] for key in sorted(runs)), tuple(problems))


def own_scheme(model: str) -> Scheme | None:
    """The fixed scheme that a registered network has by itself."""
    entry = REGISTRY.get(model)
    return None if entry is None else entry.family.scheme


def _wrong_numbers(record: RunRecord) -> list[str]:
    """The fields of a run's result that should hold numbers and do not."""
    found = {} if record.result is None else record.result.to_json()
    return [key for key, value in found.items() if key not in ("status", "reason") and not is_number(value)]


def _progress(run: RunEvidence) -> tuple[bool, int, int]:
    return run.record.result is not None, len(run.metrics), len(run.attacks)


def _read_run(store: Path, record: RunRecord, problems: list[str]) -> RunEvidence:
    def attempt(read: Callable[[], Any], path: Path, otherwise: Any) -> Any:
        try:
            return read()
        except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"{path} cannot be read: {type(error).__name__}: {error}")
            return otherwise

    folder, known = record.folder, len(problems)
    metrics = attempt(partial(_metrics, folder), folder / "metrics.jsonl", [])
    path = folder / "environment.json"
    environment = attempt(partial(_object, path), path, {}) if path.exists() else {}
    attacks = {}
    for file in sorted(folder.glob("attacks/*.json")):
        found = attempt(partial(_attack, file), file, None)
        if found is not None:
            attacks[file.stem] = found
    ablation = attempt(partial(_ablation, record), folder / "ablation.json", None)
    return RunEvidence(store, record, metrics, environment, attacks, ablation, whole=len(problems) == known)


def _object(path: Path) -> dict[str, Any]:
    data = json.loads(path.read_bytes())
    if not isinstance(data, dict):
        raise InputError("not an object")
    return data


def _metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows whose epoch is a number; a field that is none is left out of its row."""
    return [
        {key: value for key, value in row.items() if is_number(value)}
        for row in read_metrics(folder)
        if is_number(row.get("epoch"))
    ]


def _attack(path: Path) -> Attack:
    attack = Attack.from_json(_object(path))
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
            raise InputError("what should be numbers, one a block, is not")
    return found


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

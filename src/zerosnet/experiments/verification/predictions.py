"""Check that predictions are older than the runs that they are of, and were never edited."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zerosnet.errors import InputError
from zerosnet.experiments.verification.history import GitHistory
from zerosnet.experiments.verification.one_run import RunFolder
from zerosnet.experiments.verification.outcome import Verification
from zerosnet.files import read_bytes


def check_predictions(folder: Path, runs: Mapping[str, RunFolder], found: Verification, history: GitHistory) -> None:
    """Check every file of predictions in a folder against the runs of a store.

    A prediction is older than a run if the run's commit already had it. Weaker, and noted, is that it was committed
    before the run's record was. Without git, dates decide.
    """
    committed = history.added(folder) if history.whole else {}
    records = history.added(next(iter(runs.values())).folder.parent) if history.whole and runs else {}
    for path, entries, dates in _files(folder, found):
        commit = committed.get(path.resolve())
        if commit is not None:
            _check_unedited(path, commit, entries, found, history)
        late: dict[str, int] = {}
        for entry, date in zip(entries, dates):
            run = runs.get(str(entry.get("run")))
            if run is None:
                continue
            when = _when(commit, date, run, records, history)
            if when == "before":
                found.checked["predictions"] += 1
            elif when == "after":
                found.check("predictions", run.name, False, f"its prediction in {path.name} is not older than the run")
            else:
                late[when] = late.get(when, 0) + 1
        for words, count in late.items():
            found.note(path.name, f"{count} predictions are {words}")


def late_predictions(folder: Path, store: Path) -> set[tuple[str, str]]:
    """Find predictions that are not older than the results of their runs: the names of file and run.

    What neither git nor dates tell is not found; damaged files are passed over.
    """
    history = GitHistory(store)
    committed, records = (history.added(place) if history.whole else {} for place in (folder, store))
    late = set()
    for path, entries, dates in _files(folder, Verification()):
        for entry, date in zip(entries, dates):
            place = store / str(entry.get("run"))
            if "run" in entry and (place / "spec.json").is_file():
                run = RunFolder(place, Verification())
                if _when(committed.get(path.resolve()), date, run, records, history) in ("after", _KNOWN):
                    late.add((path.stem, place.name))
    return late


_BEFORE_RECORD = "older than the records of their runs, but not than the commit these were trained with"
_KNOWN = "of runs whose records were committed before; they count as none"
_UNKNOWN = "of runs that do not tell when they began"


def _when(commit: str | None, date: Any, run: RunFolder, records: Mapping[Path, str], history: GitHistory) -> str:
    """Find when a prediction was made: "before" a run, "after" it, or neither, in words."""
    environment = run.environment
    begun = environment.get("begun")
    first = next(iter(environment.get("earlier", [])), environment)
    git = first.get("git") if isinstance(first, dict) else None
    trained = git.get("commit") if isinstance(git, dict) else None
    if commit is not None and trained is not None and history.has(trained) and history.is_before(commit, trained):
        return "before"
    if isinstance(begun, str) and isinstance(date, str):
        return "before" if date <= begun else "after"
    recorded = records.get((run.folder / "result.json").resolve())
    if commit is None or recorded is None:
        return _UNKNOWN
    if commit == recorded:
        return "after"
    return _BEFORE_RECORD if history.is_before(commit, recorded) else _KNOWN


def _check_unedited(path: Path, commit: str, entries: list[Any], found: Verification, history: GitHistory) -> None:
    """Check that all predictions are there as they were when the file was committed; others may follow."""
    content = history.content(commit, path.resolve())
    if content is not None:
        first = _entries(json.loads(content))
        unedited = entries[: len(first)] == first
        found.check("predictions", path.name, unedited, f"predictions were edited after commit {commit[:12]}")


def _files(folder: Path, found: Verification) -> Iterator[tuple[Path, list[dict[str, Any]], list[Any]]]:
    """Read the files of predictions in a folder: the entries of each, and their dates."""
    for path in sorted(folder.glob("*.json")):
        try:
            data = json.loads(read_bytes(path))
            entries = _entries(data)
        except (InputError, OSError, RecursionError, ValueError) as error:
            found.problem(path.name, f"is no file of predictions ({error})")
            continue
        yield path, entries, [entry.get("date") or data.get("date") for entry in entries]


def _entries(data: Any) -> list[dict[str, Any]]:
    entries = data.get("predictions") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("expected an object with a list of predictions")
    return entries

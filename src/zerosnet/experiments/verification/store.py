"""Check a store."""

from collections import Counter
from pathlib import Path

from zerosnet.errors import InputError
from zerosnet.experiments.verification.history import GitHistory
from zerosnet.experiments.verification.measurements import check_measurements
from zerosnet.experiments.verification.one_run import RunFolder
from zerosnet.experiments.verification.outcome import Verification
from zerosnet.experiments.verification.predictions import check_predictions

_LEFT_BEHIND = ("result.json", "metrics.jsonl", "weights.safetensors", "environment.json")


def verify_store(
    store: str | Path, predictions: str | Path | None = None, data: str | Path | None = None
) -> Verification:
    """Check identities, journals, results, checksums, origins and predictions of a store.

    Args:
        store: The folder that holds the runs.
        predictions: A folder of predictions; by default `predictions` beside the store, if it is there.
        data: The folder that holds the data sets, to compare their checksums with those of the runs.

    Raises:
        InputError: There is no such folder, or it holds no run.

    Examples:
        >>> verify_store("nowhere")
        Traceback (most recent call last):
        zerosnet.errors.InputError: store is nowhere, which is no folder; expected a folder of runs
    """
    root = Path(store)
    if not root.is_dir():
        raise InputError(f"store is {root}, which is no folder; expected a folder of runs")
    if predictions is not None and not Path(predictions).is_dir():
        raise InputError(f"predictions is {predictions}, which is no folder; expected a folder of JSON files")
    found, history = Verification(), GitHistory(root)
    runs = _runs(root, found)
    if not runs and not found.problems:
        raise InputError(f"store is {root}, which holds no run; expected a folder of runs")
    for run in runs.values():
        run.check(history)
        check_measurements(run, found, history)
    found.checked["runs"] = len(runs)
    _compare_data(runs, found)
    if data is not None:
        _check_data(runs, Path(data), found)
    beside = Path(predictions) if predictions is not None else root.resolve().parent / "predictions"
    if beside.is_dir():
        check_predictions(beside, runs, found, history)
    return found


def _runs(root: Path, found: Verification) -> dict[str, RunFolder]:
    """Read the folders of all runs; one that has lost its spec is a problem, an empty one is none."""
    runs = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if (folder / "spec.json").exists():
            runs[folder.name] = RunFolder(folder, found)
        elif any((folder / name).exists() for name in _LEFT_BEHIND):
            found.problem(folder.name, "has no spec.json")
    return runs


def _compare_data(runs: dict[str, RunFolder], found: Verification) -> None:
    """Check that all runs on the whole of an official data set saw the same images."""
    seen: dict[str, Counter[str]] = {}
    told = []
    for run in runs.values():
        checksum = run.environment.get("data")
        if run.spec is not None and run.spec.validation is None and isinstance(checksum, str):
            told.append((run, run.spec.dataset, checksum))
            seen.setdefault(run.spec.dataset, Counter())[checksum] += 1
    for run, dataset, checksum in told:
        usual = seen[dataset].most_common(1)[0][0]
        if not run.is_on_a_folder:
            what = f"its {dataset} has checksum {checksum}, and that of most runs is {usual}"
            found.check("data", run.name, checksum == usual, what)


def _check_data(runs: dict[str, RunFolder], root: Path, found: Verification) -> None:
    """Compute the checksums of the data sets themselves; torch is loaded for it."""
    from zerosnet.data import load, open_folder, source

    for name in dict.fromkeys(run.spec.dataset for run in runs.values() if run.spec is not None):
        try:
            there = (open_folder if source(name).streamed else load)(name, root).fingerprint
        except InputError as error:
            found.note(name, f"its checksum was not computed: {error}")
            continue
        for run in runs.values():
            known = run.environment.get("data")
            if run.spec is not None and run.spec.dataset == name and run.spec.validation is None and known is not None:
                found.check("data", run.name, known == there, f"{name} has checksum {there} now, and had {known}")

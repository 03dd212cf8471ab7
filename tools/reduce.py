"""Reduce stores to their records: what was run and what came out, without tensors, to be kept or sent elsewhere.

    python -m tools.reduce STORE... TARGET

For every run that has ended, spec.json, result.json, metrics.jsonl, environment.json, ablation.json and attacks/*.json
are copied into TARGET/<id>/. A file that differs from the one in TARGET replaces it, and none is removed, so that
stores can be added one after the other. A run that TARGET has with another outcome was trained twice: the record there
is left as it is, since its measurements are of other weights. Such runs are named, and the command fails.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from zerosnet.errors import InputError
from zerosnet.files import read_json, write_bytes
from zerosnet.training import RunRecord, Store

RESULT = "result.json"
KEPT = ("*.json", "*.jsonl", "attacks/*.json")


def reduce(
    store: Store,
    target: Path,
    runs: Sequence[RunRecord] | None = None,
    refuse: Callable[[str], object] = lambda run: None,
) -> list[str]:
    """Copy the records of runs that have ended; return the ids of those of which a file was written.

    Args:
        runs: The runs of the store that count; None: all of them.
        refuse: Is called with the id of a run that the target has with another outcome; its record is left as it is.
    """
    if runs is None and not store.root.is_dir():
        raise InputError(f"store {store.root} does not exist; expected a folder of runs")
    written = []
    for record in store.records() if runs is None else runs:
        known = target / record.id
        if record.result is not None and (known / RESULT).exists() and not is_same_outcome(record.folder, known):
            refuse(record.id)
        elif record.result is not None and sum(list(_copy(record, target / record.id))):
            written.append(record.id)
    return written


def is_same_outcome(folder: Path, other: Path) -> bool:
    """Check if two folders are of one training; two trainings of a run differ at least by their seconds."""
    results = folder / RESULT, other / RESULT
    return all(path.exists() for path in results) and read_json(results[0]) == read_json(results[1])


def _copy(record: RunRecord, target: Path) -> Iterator[bool]:
    """Copy the files of a record, the result last, as in a run; yield for each whether it was written."""
    paths = [path for pattern in KEPT for path in sorted(record.folder.glob(pattern)) if not path.name.startswith(".")]
    for path in sorted(paths, key=lambda path: path.name == RESULT):
        copy, content = target / path.relative_to(record.folder), path.read_bytes()
        differs = not copy.exists() or copy.read_bytes() != content
        if differs:
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(copy, content)
        yield differs


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        print("usage: python -m tools.reduce STORE... TARGET", file=sys.stderr)
        return 2
    *stores, target = map(Path, arguments)
    refused: list[str] = []
    try:
        written = [run for store in stores for run in reduce(Store(store), target, refuse=refused.append)]
    except InputError as error:
        print(f"reduce: {error}", file=sys.stderr)
        return 2
    print("\n".join([*written, f"{len(written)} run(s) written to {target}"]))
    for run in refused:
        print(f"reduce: {run} is in {target} with another outcome; it is left as it is", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

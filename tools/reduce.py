"""Reduce stores to their records: what was run and what came out, without tensors, to be kept or sent elsewhere.

    python -m tools.reduce STORE... TARGET

For every run that has ended, spec.json, result.json, metrics.jsonl, environment.json, ablation.json and attacks/*.json
are copied into TARGET/<id>/. A file that differs from the one in TARGET replaces it, and none is removed, so that
stores can be added one after the other.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from zerosnet.errors import InputError
from zerosnet.files import write_bytes
from zerosnet.training import RunRecord, Store

KEPT = ("*.json", "*.jsonl", "attacks/*.json")


def reduce(store: Store, target: Path, runs: Sequence[RunRecord] | None = None) -> list[str]:
    """Copy the records of runs that have ended; return the ids of those of which a file was written.

    `runs` are those of the store that count; None: all of them.
    """
    if runs is None and not store.root.is_dir():
        raise InputError(f"store {store.root} does not exist; expected a folder of runs")
    ended = (record for record in (store.records() if runs is None else runs) if record.result is not None)
    return [record.id for record in ended if sum(list(_copy(record, target / record.id)))]


def _copy(record: RunRecord, target: Path) -> Iterator[bool]:
    """Copy the files of a record, the result last, as in a run; yield for each whether it was written."""
    paths = [path for pattern in KEPT for path in sorted(record.folder.glob(pattern)) if not path.name.startswith(".")]
    for path in sorted(paths, key=lambda path: path.name == "result.json"):
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
    try:
        written = [run for store in stores for run in reduce(Store(store), target)]
    except InputError as error:
        print(f"reduce: {error}", file=sys.stderr)
        return 2
    print("\n".join([*written, f"{len(written)} run(s) written to {target}"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

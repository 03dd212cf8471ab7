"""A sweep file, JSON or TOML, as a list of runs.

Either a list of specs, or an object with `specs` (such a list), `grid` (an object with lists for fields: all
combinations, in the order written, the last field fastest; or a list of such objects), or both; or one spec, such as
the spec.json of a run, which is then run again from its own record. A run without a seed has seed 1:

    {"grid": {"model": "zerosnet56", "scheme": ["zerosnet(1/2)", "zerosnet(10)"],
              "dataset": "cifar10", "recipe": "paper", "seed": [1, 2, 3]}}
"""

import itertools
import json
import math
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from zerosnet.errors import InputError
from zerosnet.training.runs.spec import RunSpec, check_fields, distinct

_SEED = 1  # as of `zerosnet train`
_MOST_RUNS = 100_000  # of one grid: more would not fit into memory, and nobody waits for them


def read_sweep(path: Path | str) -> list[RunSpec]:
    """Read the runs that a sweep file asks for, each once."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise InputError(f"sweep file {path} cannot be read ({reason}); expected JSON or TOML") from None
    try:
        toml = path.suffix.lower() == ".toml"
        data = tomllib.loads(text) if toml else json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"sweep file {path} is not valid {path.suffix.lstrip('.').upper() or 'JSON'}: {error}"
        ) from None
    try:
        return expand(data)
    except InputError as error:
        raise InputError(f"sweep file {path}: {error}") from None


def expand(data: Any) -> list[RunSpec]:
    """List the runs of a list of specs, of an object with `specs` or `grid`, or of a single spec."""
    if isinstance(data, dict) and "model" in data:
        data = [data]
    if isinstance(data, list):
        data = {"specs": data}
    if not isinstance(data, dict) or not data or not set(data) <= {"specs", "grid"}:
        raise InputError("expected a list of specs, or an object with specs (a list) or grid (an object) and no more")
    specs = _list(data.get("specs", []), "specs")
    grids = data.get("grid", [])
    entries: Iterable[tuple[str, Any]] = [(f"spec {i}", entry) for i, entry in enumerate(specs, 1)]
    for grid in grids if isinstance(grids, list) else [grids]:
        entries = itertools.chain(entries, zip(itertools.repeat("grid"), _combinations(grid)))
    runs: list[RunSpec] = []
    for place, entry in entries:
        try:
            runs.append(RunSpec.from_json({"seed": _SEED, **entry} if isinstance(entry, dict) else entry))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    if not runs:
        raise InputError("there is not a single run in it")
    return distinct(runs)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; a key that stands in it twice is an error."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _combinations(grid: Any) -> Iterator[dict[str, Any]]:
    """Combine the values of all fields; the fields are checked before anything is combined."""
    if not isinstance(grid, dict):
        raise InputError(f"grid is {grid!r}; expected an object of fields and lists of their values")
    check_fields(grid, "grid")
    axes = [value if isinstance(value, list) else [value] for value in grid.values()]
    for key, axis in zip(grid, axes):
        if not axis:
            raise InputError(f"grid field {key!r} is an empty list; expected at least one value")
    combinations = math.prod(map(len, axes))
    if combinations > _MOST_RUNS:
        raise InputError(f"grid has {combinations:,} combinations; expected at most {_MOST_RUNS:,}")
    return (dict(zip(grid, values)) for values in itertools.product(*axes))


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{name} is {value!r}; expected a list")
    return value

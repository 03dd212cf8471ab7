"""Tables of `zerosnet diagnose` on other people's networks, from `benchmarks/results/diagnose.json`."""

from collections.abc import Callable
from typing import Any

from tools.markdown_tables import benchmark, table

_ASSUMPTIONS = {"each": "measured", "kind": "first layer's", "one": "first block's"}


def _seconds() -> str:
    rows = [
        (f"`{row['name']}`", str(row["blocks"]), f"{row['seconds']:.1f} s", f"{row['cpu_seconds']:.1f} s")
        for row in _record()["timed"]
    ]
    return table(("Network", "Blocks", "Time", "CPU time"), rows)


def _predicted() -> str:
    rows = []
    for row in _record()["predicted"]:
        cells = [f"{row[key]['largest']:.3f} ({row[key]['effective_depth']:.1f})" for key in _ASSUMPTIONS]
        rows.append((row["name"], str(row["blocks"]), f"{row['effective_depth']:.1f}", *cells))
    heads = [f"sizes {words}" for words in _ASSUMPTIONS.values()]
    return table(("Network", "Blocks", "Depth measured", *heads), rows)


def _record() -> Any:
    return benchmark("diagnose")


TABLES: dict[str, Callable[[], str]] = {
    "seconds of a diagnosis": _seconds,
    "predicted shares of transformers": _predicted,
}

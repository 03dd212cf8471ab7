"""Markdown tables, and the records that numbers are read from."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks/results"


@cache
def benchmark(name: str) -> dict[str, Any]:
    """Read one file of benchmarks/results."""
    return json.loads((BENCHMARKS / f"{name}.json").read_text(encoding="utf-8"))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def listed(values: Iterable[float], digits: int = 1) -> str:
    """Write several numbers as a sentence does: 1.0, 2.0 and 3.0."""
    *most, last = (f"{value:.{digits}f}" for value in values)
    return f"{', '.join(most)} and {last}" if most else last


def span(values: Iterable[float], digits: int = 2) -> str:
    """Write the lowest and the highest of several numbers, or the one that they all are."""
    texts = [f"{value:.{digits}f}" for value in sorted(values)]
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"

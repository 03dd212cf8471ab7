"""The text of pages, the rows of their tables, and what the committed benchmarks say."""

import json
from typing import Any

from tests.docs.blocks import DOCS, ROOT


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def benchmark(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text(encoding="utf-8"))

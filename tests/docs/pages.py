"""The text of pages, and the rows of their tables."""

from tests.docs.blocks import DOCS


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

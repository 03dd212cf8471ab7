"""The rules of CONTRIBUTING.md about docstrings and the length of files."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [path for folder in ("src", "tools", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
FRAGMENT = re.compile(r"(Of|That|So|Who|Whose|Whether|Where|Say|Tell)\b")
CEILING = 300


def docstrings(path: Path) -> list[str]:
    """Collect the strings that stand alone: docstrings, those of names below an assignment too."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    values = [node.value.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return [value.strip() for value in values if isinstance(value, str)]


def test_no_docstring_begins_with_a_fragment_or_with_say_or_tell() -> None:
    found = [f"{path.relative_to(ROOT)}: {text}" for path in FILES for text in docstrings(path) if FRAGMENT.match(text)]
    assert found == []


def test_no_file_of_package_and_tools_is_longer_than_the_ceiling() -> None:
    parts = [path for path in FILES if path.parts[len(ROOT.parts)] != "benchmarks"]  # scripts for one measurement each
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in parts}
    assert {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > CEILING} == {}

"""The fenced code blocks of README, CONTRIBUTING and the docs."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^(?P<fence>```+)(?P<head>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)
_SNIPPET = re.compile(r"^--8<--\n(?P<name>\S+)\n--8<--$", re.MULTILINE)
_TITLE = re.compile(r'title="(?P<title>[^"]+)"')


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    title: str
    code: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One `$` line of a console block, without its comment, and the lines of output shown below it."""

    words: str
    comment: str
    shown: tuple[str, ...]

    @property
    def parsed_only(self) -> bool:
        """What a machine, network or person is needed for says so: `# needs a GPU`."""
        return self.comment.startswith("needs ")


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        head, title = match["head"].strip(), _TITLE.search(match["head"])
        code = _SNIPPET.sub(lambda m: (DOCS / "examples" / m["name"]).read_text(encoding="utf-8"), match["body"])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, head.split(" ")[0], title["title"] if title else "", code))
    return found


def commands_of(block: Block) -> list[Command]:
    commands: list[Command] = []
    for line in block.code.splitlines():
        if line.startswith("$ "):
            words, _, comment = line[2:].partition("  #")
            commands.append(Command(words.strip(), comment.strip(), ()))
        elif line.strip():
            assert commands, f"{block.place}: output before any command"
            last = commands.pop()
            commands.append(Command(last.words, last.comment, (*last.shown, line)))
    return commands


def load_file(place: str) -> ModuleType:
    """A Python file below docs/ as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"documented_{Path(place).stem}", DOCS / place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

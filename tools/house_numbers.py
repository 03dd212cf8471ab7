"""Count how easy the code is to find one's way in, and write the numbers into docs/architecture.md.

    python -m tools.house_numbers

Calls and files are those of a real training on the digits, which a profiling hook watches. A file counts if one of its
functions is called; running its top level when it is imported does not count. The numbers of before were counted in the
same way at commit 70bef49, by hand where the table has "about".
"""

import ast
import re
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tools.markdown_tables import ROOT, table

SOURCE = ROOT / "src/zerosnet"
PAGE = ROOT / "docs/architecture.md"
SHORT = 60  # lines
LOOP = "training/loop.py"
SHORT_FOR_A_REASON = {
    "explorer/bundle.py": "a build step, alone",
    "kernels/cache.py": "works before PyTorch is loaded",
    "kernels/chips.py": "works before PyTorch is loaded",
    "kernels/driver.py": "works before PyTorch is loaded",
    "kernels/layouts.py": "copies of weights, alone",
    "report/page/glossary.py": "texts, alone",
    "robustness/corruptions/noise.py": "one file per family of corruptions",
    "cli/commands/explore.py": "one file per command",
    "cli/commands/report.py": "one file per command",
    "cli/commands/verify.py": "one file per command",
    "cli/wiring_table.py": "a table for narrow screens, alone",
    "models/diagnosis/display.py": "both kinds of diagnosis import it",
    "errors.py": "all rooms import it",
    "data/for_test.py": "needs both shelves of the room",
    "experiments/verification/outcome.py": "all checks of a store import it",
    "experiments/registry.py": "the table that a new experiment goes into",
    "models/stepping/stream_sums.py": "sums of streams, alone",
    "numerics/display.py": "all values that notebooks show import it",
    "numerics/paper.py": "the paper's coefficients, alone",
    "numerics/polynomials/one_at_a_time.py": "one lock for two libraries",
    "training/fused/ready_weights.py": "half precision on GPUs, alone",
    "robustness/corruptions/draws.py": "random numbers that all corruptions import",
    "robustness/perturbations/counter.py": "random numbers that the tests hold to a reference",
}
_MARKED = re.compile(r"(<!-- the (house|calls) -->\n).*?(<!-- end -->)", re.DOTALL)
_FUNCTION = 0x1  # CO_OPTIMIZED: the code of a function, not of a module or class


class Walk:
    """The record of a training: the files whose functions it calls, and the stack at its first block.

    Attributes:
        files: Files of the package, relative to it.
        calls: The own functions from `run` in cli/main.py to the first block of the training loop, with their files;
            empty before there is one.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = _own(code)
        if name is None or not code.co_flags & _FUNCTION:
            return
        if name not in self.files and not _while_importing(frame):
            self.files.add(name)
        if not self.calls and name.endswith("/blocks.py") and code.co_name == "forward":
            stack = _stack(frame)
            if any(file == LOOP for file, _ in stack):
                self.calls = stack


def _own(code: CodeType) -> str | None:
    """Return the file of a function of the package, relative to it; None for others."""
    path = code.co_filename
    return path[len(str(SOURCE)) + 1 :] if path.startswith(f"{SOURCE}/") else None


def _stack(frame: FrameType | None) -> list[tuple[str, str]]:
    """List file and name of the package's functions from the outermost to this one."""
    found = []
    while frame is not None:
        name = _own(frame.f_code)
        if name is not None:
            found.append((name, frame.f_code.co_qualname.replace(".<locals>", "")))
        frame = frame.f_back
    return found[::-1]


def _while_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _own(frame.f_code) is not None:
            return True
        frame = frame.f_back
    return False


def walk() -> Walk:
    """Train one network on the digits for an epoch and watch it."""
    from zerosnet.cli.main import run

    seen = Walk()
    with tempfile.TemporaryDirectory() as store:
        threading.setprofile(seen)
        sys.setprofile(seen)
        options = ["--dataset", "digits", "--recipe", "quick", "--epochs", "1", "--device", "cpu", "--deterministic"]
        code = run(["train", "zerosnet20_opt", *options, "--store", store])
        sys.setprofile(None)
        threading.setprofile(None)
    if code:
        raise SystemExit(code)
    return seen


def lines(folder: Path) -> int:
    """Count the lines of all Python files in a folder."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in folder.rglob("*.py"))


def short_files() -> list[str]:
    """List the modules below 60 lines; `__init__.py` and `__main__.py` are not counted."""
    modules = [path for path in SOURCE.rglob("*.py") if not path.name.startswith("__")]
    return [str(path.relative_to(SOURCE)) for path in modules if path.read_text("utf-8").count("\n") < SHORT]


def imports_around_init() -> int:
    """Count the imports of another room's module instead of its `__init__`."""
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    count = 0
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("zerosnet."):
                other = node.module.split(".")[1]
                count += own in rooms and other in rooms - {own} and node.module != f"zerosnet.{other}"
    return count


def shared_names() -> list[str]:
    """List the public classes that share their name with another one."""
    names = Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return [name for name, count in names.items() if count > 1]


def house(seen: Walk) -> str:
    """Write the table of before and after."""
    short = short_files()
    rows = [
        ("own frames from `main` to the first block of `train`", "about 20", str(len(seen.calls))),
        ("files that a `train` on digits passes", "about 60", str(len(seen.files))),
        ("edits to add a training option", "8", "1"),
        (f"files below {SHORT} lines", "39", str(len(short))),
        ("of those without a reason", "not counted", str(len(set(short) - set(SHORT_FOR_A_REASON)))),
        ("source / test lines", "27,400 / 22,500", f"{lines(ROOT / 'src'):,} / {lines(ROOT / 'tests'):,}"),
        ("imports around a room's `__init__`", "181", str(imports_around_init())),
        ("public classes sharing a name", "15", str(len(shared_names()))),
    ]
    return table(("", "Before", "Now"), rows)


def main() -> int:
    text, seen = PAGE.read_text(encoding="utf-8"), walk()
    rows = [(str(depth), f"`{name}`", f"`{file}`") for depth, (file, name) in enumerate(seen.calls, start=1)]
    calls = table(("", "Call", "File"), rows)
    counted = {"house": house(seen), "calls": calls}
    PAGE.write_text(_MARKED.sub(lambda mark: f"{mark[1]}\n{counted[mark[2]]}\n\n{mark[3]}", text), encoding="utf-8")
    print(counted["house"], *sorted(seen.files), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

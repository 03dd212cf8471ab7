"""Compiled kernels on disk: made once, checked when read, and never in the way."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from zerosnet.kernels import compile as compile_module
from zerosnet.kernels import nvrtc
from zerosnet.kernels.cache import remembered
from zerosnet.kernels.compile import AROUND, Unit, compile_unit
from zerosnet.kernels.nvrtc import compiler_versions


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def unwanted() -> bytes:
    raise AssertionError("made again")


def test_an_entry_is_made_once(folder):
    assert remembered("key", lambda: b"binary") == b"binary"
    assert remembered("key", unwanted) == b"binary"
    assert remembered("other key", lambda: b"other") == b"other"


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_is_made_anew(folder, damage):
    remembered("key", lambda: b"binary")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"!" if damage is None else damage)
    assert remembered("key", lambda: b"binary") == b"binary"
    assert remembered("key", unwanted) == b"binary"


def test_threads_may_make_the_same_entry(folder):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: remembered("key", lambda: b"x" * 100_000), range(32)))
    assert set(found) == {b"x" * 100_000} and len(list(folder.iterdir())) == 1


# A process that does what the lines on its input ask for, and answers each: with the first letter of the entry that it
# gets, its own if it had to make it. In a race it makes, reads and damages the entry by turns.
_PROCESS = """
import sys
from pathlib import Path
from zerosnet.kernels.cache import remembered

letter, path = sys.argv[1].encode(), Path(sys.argv[2])

def get():
    found = remembered("key", lambda: letter * 100_000)
    assert found in (b"a" * 100_000, b"b" * 100_000), (len(found), set(found))
    return chr(found[0])

def damage():
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    return "!"

def race():
    for turn in range(120):
        get()
        if turn % 3 == 0:
            damage()
    return "over"

for line in sys.stdin:
    print({"get": get, "damage": damage, "race": race}[line.strip()](), flush=True)
"""


class Process:
    def __init__(self, letter: str, entry: Path, stack: ExitStack):
        command = [sys.executable, "-c", _PROCESS, letter, str(entry)]
        self.process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(self.process.kill)

    def ask(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        return self.process.stdout.readline().strip()

    def __call__(self, line: str) -> str:
        self.ask(line)
        return self.answer()


@pytest.fixture
def processes(folder) -> Iterator[tuple[Process, Process]]:
    remembered("key", lambda: b"to find the name of the entry")
    (entry,) = folder.iterdir()
    entry.unlink()
    with ExitStack() as stack:
        yield Process("a", entry, stack), Process("b", entry, stack)


def test_a_process_reads_what_another_made_and_makes_anew_what_it_damaged(processes):
    first, second = processes
    assert first("get") == second("get") == "a"
    assert second("damage") == "!" and second("get") == first("get") == "b"
    assert first("damage") == "!" and first("get") == second("get") == "a"


def test_two_processes_at_once_get_whole_entries_and_leave_one(processes, folder):
    for process in processes:
        process.ask("race")
    assert [process.answer() for process in processes] == ["over", "over"]
    first, second = processes
    assert first("get") == second("get") and len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path / "file"))
    assert remembered("key", lambda: b"binary") == b"binary"


def test_an_empty_folder_name_keeps_nothing(monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", "")
    assert remembered("key", lambda: b"binary") == b"binary" and remembered("key", lambda: b"new") == b"new"


@pytest.fixture
def compiled(folder, monkeypatch) -> list[tuple]:
    """What the compiler was asked for, instead of compiling it."""
    calls = []
    monkeypatch.setattr(compile_module, "compile_cuda", lambda *asked: calls.append(asked) or b"code")
    return calls


UNIT = Unit(16, 32, 1)
CHANGED_UNITS = {"channels": Unit(32, 32, 1), "width": Unit(16, 16, 1), "piece": Unit(16, 32, 2)}  # of the same source
CHANGED_VERSIONS = {
    "driver": ("gpu_driver", "600.1"),
    "PyTorch": ("torch_versions", ("2.16", "13.2")),
    "CUDA": ("torch_versions", ("2.15", "13.3")),
}


@pytest.mark.parametrize("changed", ["source", "instruction set", *CHANGED_UNITS, *CHANGED_VERSIONS])
def test_a_change_of_anything_that_code_depends_on_compiles_anew(compiled, monkeypatch, changed):
    monkeypatch.setattr(nvrtc, "gpu_driver", lambda: "580.159")
    monkeypatch.setattr(nvrtc, "torch_versions", lambda: ("2.15", "13.2"))
    monkeypatch.setattr(compile_module, "source", lambda channels, kernels: "one source")
    for _ in range(2):
        compile_unit(UNIT, "90a")
    assert len(compiled) == 1
    if changed == "source":
        monkeypatch.setattr(compile_module, "source", lambda channels, kernels: "another source")
    elif changed in CHANGED_VERSIONS:
        name, found = CHANGED_VERSIONS[changed]
        monkeypatch.setattr(nvrtc, name, lambda: found)
    for _ in range(2):
        compile_unit(CHANGED_UNITS.get(changed, UNIT), "100a" if changed == "instruction set" else "90a")
    assert len(compiled) == 2
    assert (compiled[0] == compiled[1]) is (changed in CHANGED_VERSIONS), "the compiler is asked for the change"


@pytest.mark.parametrize("version", ["13.2.86", "13.2.90", None])
def test_another_nvrtc_compiles_anew(compiled, tmp_path, monkeypatch, version):
    """Whether a package has it, with a version, or the system, with none that is known without loading it."""
    site = tmp_path / "site"

    def installed(name: str | None) -> None:
        shutil.rmtree(site, ignore_errors=True)
        (site / "torch").mkdir(parents=True)
        if name is not None:
            (site / f"nvidia_cuda_nvrtc_cu13-{name}.dist-info").mkdir()
        nvrtc.nvrtc_package.cache_clear()

    monkeypatch.setattr(nvrtc, "_torch_folder", lambda: site / "torch")
    monkeypatch.setattr(nvrtc, "torch_versions", lambda: ("2.15", "13.2"))
    for name in ("13.2.1", version, version):
        installed(name)
        compile_unit(AROUND, "90a")
    assert compiler_versions().endswith(f", NVRTC {version}") and len(compiled) == 2
    nvrtc.nvrtc_package.cache_clear()

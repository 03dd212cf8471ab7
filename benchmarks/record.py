"""Result files of runs that may be cut: what has been measured stays, and the same command goes on from there."""

import json
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

Result = dict[str, Any]


def on_cpu() -> str:
    """Mark the result files of what is measured on a CPU."""
    return "-cpu"


def by_device() -> str:
    """Mark result files by the device that there is."""
    return "-cuda" if torch.cuda.is_available() else "-cpu"


def command(name: str, only: str = "", folders: Iterable[str] = ()) -> str:
    """Return what was typed, with the variables that were set; folders become DIR."""
    given = [f"{folder}=DIR" for folder in folders if os.environ.get(folder)]
    return shlex.join([*given, "python", "-m", "benchmarks", name, *(["--only", only] if only else [])])


def keep(path: Path, facts: Result, measured: Result | Iterable[Result]) -> Path:
    """Store a result and print its path; a growing one is stored whenever it has grown.

    Until a result is complete it is called NAME.partial.json, so that no complete one is lost to a run that is cut. One
    whose last state names cases that were `left_out` stays there.
    """
    so_far: Result = {}
    for so_far in [measured] if isinstance(measured, dict) else measured:
        _write(_partial(path), {**facts, "partial": True, **so_far})
    if so_far.get("left_out"):
        return _partial(path)
    _write(path, {**facts, **so_far})
    _partial(path).unlink(missing_ok=True)
    return path


def begun(path: Path, facts: Result) -> Result:
    """Return what a run with the same facts (command and environment) left unfinished; nothing if there was none."""
    try:
        left = json.loads(_partial(path).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return left if {name: left.get(name) for name in facts} == facts else {}


def _partial(path: Path) -> Path:
    return path.with_suffix(".partial.json")


def _write(path: Path, record: Result) -> None:
    """Replace a file in one move: a reader, or a kill, finds the old file or the new one."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(record, indent=1) + "\n")
    temporary.replace(path)

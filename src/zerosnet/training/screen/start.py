"""Measure where the start of a training goes, from the beginning of the process to its first step."""

import os
import time
from pathlib import Path

_MARKS: dict[str, float] = {}  # seconds since the process began, by what was done by then


def mark(done: str) -> None:
    """Note that a part of the start is done; the first time counts."""
    _MARKS.setdefault(done, process_seconds())


def start_line() -> str:
    """Describe the start so far, each part with its own seconds."""
    parts, before = [], 0.0
    for done, seconds in _MARKS.items():
        parts.append(f"{done} {seconds - before:.1f}")
        before = seconds
    return f"start: {before:.1f} s ({', '.join(parts)})"


def process_seconds() -> float:
    """Seconds since this process began; since this module was imported if the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        return time.monotonic() - _IMPORTED


_IMPORTED = time.monotonic()

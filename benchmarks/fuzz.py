"""Ten thousand command lines and calls drawn by a seeded fuzzer, and ten thousand schemes against 60-digit roots.

Command lines are run in children of one warm process, each in its own copy of a small folder. What counts as a failure:
a traceback, or an error that is not reported as one of bad input or of the system; a case that takes over a minute; an
exit code other than 0, 1, 2 and 130; a child that dies. For calls in Python everything but an answer and an InputError.
"""

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import on_cpu

SEED = 27
COUNTS = {
    "schemes": 2200,
    "trainings": 300,
    "sweep files": 1000,
    "damaged stores": 300,
    "images": 300,
    "other commands": 300,
    "Python calls": 6000,
}
SCHEMES = 10_000
CASES = (*COUNTS, "numerics")  # a run that is cut goes on with the piece that it was at
LONGEST = 60.0  # seconds for one case
_BATCH = 25  # cases of one child
_PIECE = 250  # cases after which the record is stored
_CODES = (0, 1, 2, 130)
_UNEXPECTED = ("Traceback (most recent call last)", "ZEROSNET_TRACEBACK=1 shows where")
Key = tuple[str, int]
suffix = on_cpu


def run(only: str, before: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Fuzz everything, piece by piece; the record names every failure.

    Args:
        only: Ignored; all kinds are tried.
        before: What a run that was cut has left.
    """
    limit = float(os.environ.get("ZEROSNET_BENCHMARK_SECONDS", "inf"))  # of computing; then it stops, to be continued
    pieces: dict[str, Any] = dict(before.get("pieces", {}))
    waiting = [piece for piece in _pieces() if _name(piece) not in pieces]
    for done, piece in enumerate(waiting, 1):
        pieces[_name(piece)] = _try(*piece)
        left = [_name(one) for one in waiting[done:]]
        stop = sum(os.times()[:4]) > limit
        yield {"seed": SEED, "pieces": pieces, **({"left_out": left} if left else {})}
        if left and stop:
            return
    yield {"seed": SEED, **_together(pieces)}


def _pieces() -> list[tuple[str, int, int]]:
    """List pieces of work: a kind, the number of its first case, and of the one after the last."""
    counts = {**COUNTS, "numerics": SCHEMES}
    return [
        (kind, start, min(start + _PIECE, count)) for kind, count in counts.items() for start in range(0, count, _PIECE)
    ]


def _name(piece: tuple[str, int, int]) -> str:
    return f"{piece[0]} {piece[1]}"


def _try(kind: str, start: int, stop: int) -> dict[str, Any]:
    from benchmarks.fuzz_numerics import compare

    began = time.monotonic()
    found = compare(start, stop, SEED) if kind == "numerics" else fuzz({kind: range(start, stop)}, SEED)
    print(f"   {kind} {start} to {stop}: {time.monotonic() - began:.0f} s", flush=True)
    return found


def _together(pieces: dict[str, Any]) -> dict[str, Any]:
    """Add up what the pieces found."""
    parts = [piece for name, piece in pieces.items() if not name.startswith("numerics")]
    numerics = [piece for name, piece in pieces.items() if name.startswith("numerics")]
    outcomes: dict[str, Counter[str]] = {}
    slowest: dict[str, float] = {}
    for part in parts:
        for kind, counted in part["outcomes"].items():
            outcomes.setdefault(kind, Counter()).update(counted)
            slowest[kind] = max(slowest.get(kind, 0.0), part["slowest_seconds"][kind])
    verdicts: dict[str, Counter[str]] = {}
    for part in numerics:
        for name, counted in part["verdicts"].items():
            verdicts.setdefault(name, Counter()).update(counted)
    return {
        "cases": sum(part["cases"] for part in parts),
        "outcomes": {kind: dict(sorted(counter.items())) for kind, counter in outcomes.items()},
        "slowest_seconds": slowest,
        "failures": [failure for part in parts for failure in part["failures"]],
        "numerics": {
            "schemes": sum(part["schemes"] for part in numerics),
            "digits": numerics[0]["digits"],
            "verdicts": {name: dict(sorted(counter.items())) for name, counter in verdicts.items()},
            "wrong": [wrong for part in numerics for wrong in part["wrong"]],
        },
    }


def fuzz(counts: Mapping[str, range], seed: int) -> dict[str, Any]:
    """Try the cases of these numbers of every kind; return counts by kind and outcome, and the failures."""
    _warm_up()
    cases = [(kind, number) for kind, numbers in counts.items() for number in numbers]
    kinds: dict[str, Counter[str]] = {kind: Counter() for kind in counts}
    slowest: dict[str, float] = dict.fromkeys(counts, 0.0)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        from benchmarks.fuzz_world import make_world

        world = Path(folder, "world")
        world.mkdir()
        make_world(world)
        for place in range(0, len(cases), _BATCH):
            for (kind, number), outcome, seconds, text in _batch(cases[place : place + _BATCH], seed, world):
                slowest[kind] = max(slowest[kind], seconds)
                failed = outcome.startswith("failure")
                kinds[kind]["failure" if failed else outcome] += 1
                if failed:
                    failures.append({"kind": kind, "number": number, "case": text[:500], "failure": outcome[9:900]})
                    print(f"   {kind} {number}: {outcome[:300]}\n      {text[:300]}", flush=True)
        (world / "locked").chmod(0o700)
    return {
        "cases": len(cases),
        "outcomes": {kind: dict(sorted(counter.items())) for kind, counter in kinds.items()},
        "slowest_seconds": {kind: round(seconds, 1) for kind, seconds in slowest.items()},
        "failures": failures,
    }


def _warm_up() -> None:
    """Load in the parent what children need."""
    import sympy  # noqa: F401
    import torch

    import zerosnet.cli.main  # noqa: F401
    from zerosnet.data import load
    from zerosnet.numerics import Scheme, facts, forecast

    torch.set_num_threads(1)
    load("digits")
    facts(Scheme.parse("1/3,5/9,1/9;16/9"))
    forecast(Scheme.parse("1;1"))


def _batch(cases: Sequence[Key], seed: int, world: Path) -> list[tuple[Key, str, float, str]]:
    """Try cases in a child; if it dies or hangs, the case at work has failed, and another child goes on after it."""
    found: list[tuple[Key, str, float, str]] = []
    while len(found) < len(cases):
        rest = cases[len(found) :]
        found += _child(rest, seed, world)
    return found


def _child(cases: Sequence[Key], seed: int, world: Path) -> list[tuple[Key, str, float, str]]:
    """Fork, and read a line per case from the child; the last one may be about its death."""
    copy = world.with_name("work")
    _remove(copy)
    shutil.copytree(world, copy, symlinks=True)
    (copy / "locked").chmod(0o500)
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _work(cases, seed, copy, writing)
    os.close(writing)
    found: list[tuple[Key, str, float, str]] = []
    rest, began = b"", time.monotonic()
    while len(found) < len(cases):
        ready, _, _ = select.select([reading], [], [], max(0.0, LONGEST - (time.monotonic() - began)))
        piece = os.read(reading, 65536) if ready else b""
        if not piece:
            text = _text(cases[len(found)], seed)
            why = "failure: the process died" if ready else f"failure: no end after {LONGEST:.0f} s"
            found.append((cases[len(found)], why, time.monotonic() - began, text))
            break
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            outcome, text = json.loads(line)
            found.append((cases[len(found)], outcome, time.monotonic() - began, text))
            began = time.monotonic()
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(reading)
    return found


def _remove(folder: Path) -> None:
    if (folder / "locked").exists():
        (folder / "locked").chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _text(case: Key, seed: int) -> str:
    from benchmarks.fuzz_cases import draw

    return draw(case[0], seed, case[1]).text


def _work(cases: Sequence[Key], seed: int, folder: Path, writing: int) -> None:
    """Try all cases in the child, and never return."""
    from benchmarks.fuzz_cases import draw

    os.chdir(folder)
    os.environ.pop("ZEROSNET_TRACEBACK", None)
    said = os.open(folder.with_name("said"), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False, errors="replace") for number in (1, 2))  # noqa: SIM115
    for kind, number in cases:
        os.ftruncate(said, 0)
        os.lseek(said, 0, os.SEEK_SET)
        case = draw(kind, seed, number)
        try:
            outcome = case.go()
        except BaseException as error:
            outcome = f"failure: {type(error).__name__}: {error}"
        sys.stdout.flush()
        sys.stderr.flush()
        os.lseek(said, 0, os.SEEK_SET)
        printed = os.read(said, 1 << 20).decode(errors="replace")
        line = json.dumps([_judged(outcome, printed), case.text]) + "\n"
        os.write(writing, line.encode())
    time.sleep(LONGEST)  # until the parent has read all of it
    os._exit(0)


def _judged(outcome: int | str, printed: str) -> str:
    """Name the outcome of a case, given what it printed."""
    if isinstance(outcome, str):
        return outcome if outcome in ("refused", "answered") or outcome[:7] == "failure" else f"failure: {outcome}"
    for words in _UNEXPECTED:
        if words in printed:
            return f"failure: {printed[-600:]}"
    if outcome not in _CODES:
        return f"failure: exit code {outcome}"
    if outcome == 2 and "zerosnet" not in printed and "Usage" not in printed:
        return "failure: exit code 2 without a line about it"
    return f"exit code {outcome}"

"""Chains of faults: a command is struck again and again, continued by itself, and must end as its twin did."""

import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.torture.children import (
    COMMANDS,
    PATIENCE,
    Child,
    difference,
    ended,
    limit_files,
    outcome,
    remove,
    start,
)
from benchmarks.torture.disk import Fault, Full, Kill, watch

LONGEST = 8  # faults of a chain
_PACE: dict[str, float] = {}  # this worker's times against the twin's, by command: the load of a machine changes


class Failure(Exception):
    """Something that a fault must not do."""


@dataclass(frozen=True)
class Twin:
    """A command that was left alone: how its store ended, its changes of files by kind, and its time."""

    outcome: dict[str, Any]
    changes: Counter[str]
    seconds: float


@dataclass
class Site:
    """The place of a chain: a store, the command that works on it, and what has ended there."""

    command: str
    work: Path
    store: Path
    twin: Twin
    seed: int
    finished: dict[str, tuple[int, int]] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        return COMMANDS[self.command](self.work, self.store)

    def start(self, prepare: Callable[[], object] = lambda: None, name: str = "", at_end: Any = None) -> Child:
        return start(self.arguments(), self.store.with_name(f"{self.store.name}{name}.txt"), prepare, at_end)

    def check_finished(self) -> None:
        """Raise a `Failure` if a file of what had ended is gone, or was written again."""
        now = ended(self.store)
        for path, facts in self.finished.items():
            if path not in now:
                raise Failure(f"{Path(path).relative_to(self.store)} was finished and is gone")
            if now[path] != facts:
                raise Failure(f"{Path(path).relative_to(self.store)} was finished and was written again")
        self.finished = now

    def end(self) -> None:
        """Let the command end, compare with the twin, and check that another call changes nothing."""
        finish(self.start())
        self.check_finished()
        if differs := difference(outcome(self.store), self.twin.outcome):
            raise Failure(f"differs from its twin: {differs}")
        finish(self.start())
        self.check_finished()
        if differs := difference(outcome(self.store), self.twin.outcome):
            raise Failure(f"differs from its twin after one more call: {differs}")


def finish(child: Child, codes: tuple[int, ...] = (0,)) -> int:
    """Wait for a command; raise a `Failure` if it hangs, or ends with another exit code or a traceback."""
    if not child.wait(PATIENCE):
        child.kill()
        raise Failure(f"did not end in {PATIENCE:g} s")
    said = child.said()
    if child.code not in codes or "Traceback" in said:
        raise Failure(f"exit code {child.code}, status {child.status}: {said[-800:]}")
    return int(child.code or 0)


def kill_at_random(site: Site, drawn: random.Random) -> list[dict[str, Any]]:
    """Kill the command, or one or both of two that share the store, at a drawn moment."""
    both = site.command == "sweep"
    children = [site.start(name=name) for name in (("-a", "-b") if both else ("",))]
    victims = drawn.choice([children, children[:1], children[1:]]) if both else children
    pace = _PACE.get(site.command, 0.5)
    moment = drawn.uniform(0, site.twin.seconds * pace)
    children[0].wait(moment)
    kills = []
    for child in victims:
        if child.kill():
            kills.append({"second": round(moment, 3)})
    _PACE[site.command] = min(2.0, pace * 1.05) if kills else pace * 0.8
    for child in children:
        if not child.killed:
            finish(child)
    return kills


def kill_at_write(site: Site, drawn: random.Random) -> list[dict[str, Any]]:
    """Kill the command in the middle of a drawn change of a drawn kind of file."""
    kind = drawn.choice(sorted(site.twin.changes))
    number = drawn.randint(1, site.twin.changes[kind])
    reader, writer = os.pipe()
    child = site.start(lambda: watch(site.store, Kill(kind=kind, number=number, note=writer)))
    os.close(writer)
    ended_in_time = child.wait(PATIENCE)
    what = os.read(reader, 100).decode()
    os.close(reader)
    if ended_in_time and child.killed and what:
        return [{"file": kind, "change": what, "number": number}]
    if not ended_in_time:
        child.kill()
        raise Failure(f"did not end in {PATIENCE:g} s")
    finish(child)
    return []


def fill_disk(site: Site, drawn: random.Random) -> list[dict[str, Any]]:
    """Let the disk be full from a drawn change on; every fifth time the kernel refuses files above a drawn size."""
    reader, writer = os.pipe()
    number, size = drawn.randint(1, site.twin.changes.total()), 2 ** drawn.randint(14, 20)
    by_kernel = drawn.random() < 0.2

    def prepare() -> None:
        limit_files(size) if by_kernel else watch(site.store, Full(number=number, note=writer))

    child = site.start(prepare)
    os.close(writer)
    code = finish(child, (0, 1, 2))
    said, refused = child.said(), os.read(reader, 10_000).decode().split("\n")[0]
    os.close(reader)
    if by_kernel:
        return [{"file_size": size, "code": code}] if code else []
    if refused and code == 0:
        raise Failure(f"{refused} was refused by a full disk, and the command ended as if nothing was: {said[-400:]}")
    return [{"change": number, "refused": refused, "code": code}] if refused else []


FAULTS: dict[str, tuple[str, Callable[[Site, random.Random], list[dict[str, Any]]]]] = {
    "train, at random moments": ("train", kill_at_random),
    "train, in the middle of a write": ("train", kill_at_write),
    "sweep, two processes on one store": ("sweep", kill_at_random),
    "sweep, in the middle of a write": ("sweep", kill_at_write),
    "reproduce, at random moments": ("reproduce", kill_at_random),
    "reproduce, in the middle of a write": ("reproduce", kill_at_write),
    "attack, at random moments": ("attack", kill_at_random),
    "attack, in the middle of a write": ("attack", kill_at_write),
    "full disk": ("train", fill_disk),
}


def torture(name: str, seed: int, work: Path, twins: dict[str, Twin]) -> dict[str, Any]:
    """Strike a command up to eight times, let it end and compare it with its twin; return what happened."""
    command, fault = FAULTS[name]
    drawn = random.Random(f"{name} {seed}")
    site = place(command, work, seed, twins)
    struck: list[dict[str, Any]] = []
    failure = None
    try:
        for _ in range(drawn.randint(2, LONGEST)):
            done = fault(site, drawn)
            struck += done
            site.check_finished()
            if not done:
                break
        site.end()
    except Failure as problem:
        failure = str(problem)
    remove(site.store)
    return {"case": name, "seed": seed, "faults": struck, "failure": failure}


def place(command: str, work: Path, seed: int, twins: dict[str, Twin]) -> Site:
    """Make the place of a chain; an attack finds runs that have ended."""
    store = work / f"{command}-{os.getpid()}-{seed}"
    remove(store)
    if command == "attack":
        shutil.copytree(work / "twin-train", store)
    site = Site(command, work, store, twins[command], seed)
    site.finished = ended(store)
    return site


def make_twin(command: str, work: Path, seed: int = 0) -> Twin:
    """Let a command end undisturbed, and count its changes of files."""
    store = work / f"twin-{command}"
    if command == "attack":
        shutil.copytree(work / "twin-train", store)
    counts = Fault()
    path = work / f"twin-{command}.json"
    site = Site(command, work, store, Twin({}, Counter(), 0.0), seed)
    began = time.monotonic()
    child = site.start(lambda: watch(store, counts), at_end=lambda: path.write_text(json.dumps(counts.counts)))
    finish(child)
    return Twin(outcome(store), Counter(json.loads(path.read_text())), time.monotonic() - began)

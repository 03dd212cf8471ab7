"""Damaged and truncated files of every kind: the command goes on to its twin's end, or names the file and stops."""

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.torture.chains import Failure, Site, Twin, finish, place
from benchmarks.torture.children import PATIENCE, difference, ended, outcome, remove
from benchmarks.torture.disk import Kill, watch


def truncated(content: bytes, drawn: random.Random) -> bytes:
    return content[: drawn.randrange(max(len(content), 1))]


def emptied(content: bytes, drawn: random.Random) -> bytes:
    return b""


def overwritten(content: bytes, drawn: random.Random) -> bytes:
    """Random bytes in place of a stretch of the file, from its first half on; all of an empty one."""
    if not content:
        return drawn.randbytes(64)
    begin = drawn.randrange(max(len(content) // 2, 1))
    length = min(len(content) - begin, drawn.randint(8, 512))
    return content[:begin] + drawn.randbytes(length) + content[begin + length :]


def flipped(content: bytes, drawn: random.Random) -> bytes:
    """One bit is another."""
    place = drawn.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << drawn.randrange(8)]) + content[place + 1 :]


def zeroed(content: bytes, drawn: random.Random) -> bytes:
    """Zeros from a drawn place on, as some file systems leave after a power cut."""
    kept = drawn.randrange(max(len(content), 1))
    return content[:kept] + bytes(len(content) - kept)


def removed(content: bytes, drawn: random.Random) -> None:
    return None


Manner = Callable[[bytes, random.Random], bytes | None]
TEXT: tuple[Manner, ...] = (truncated, emptied, overwritten, zeroed, removed)  # a digit that turns has no checksum
BINARY: tuple[Manner, ...] = (*TEXT, flipped)


@dataclass(frozen=True)
class Target:
    """A kind of file, in a store that was begun or has ended, and the command that meets it."""

    files: str
    state: str
    command: str
    manners: tuple[Manner, ...] = TEXT


TARGETS = (
    Target("*/checkpoints/*.safetensors", "begun", "train", BINARY),
    Target("*/metrics.jsonl", "begun", "train"),
    Target("*/environment.json", "begun", "train"),
    Target("*/spec.json", "begun", "train"),
    Target("*/lock", "begun", "train"),
    Target("*/result.json", "ended", "train"),
    Target("*/spec.json", "ended", "train"),
    Target("*/metrics.jsonl", "ended", "train"),
    Target("*/environment.json", "ended", "train"),
    Target("*/weights.safetensors", "ended", "attack", BINARY),
    Target("*/result.json", "ended", "attack"),
    Target("*/attacks/*.json", "attacked", "attack"),
)


def damage(seed: int, work: Path, twins: dict[str, Twin]) -> dict[str, Any]:
    """Damage a file, of every kind in turn, and see what the command makes of it."""
    drawn = random.Random(f"damage {seed}")
    target = TARGETS[seed % len(TARGETS)]
    site = place("train" if target.state == "begun" else target.command, work, seed, twins)
    failure, manner, how = None, drawn.choice(target.manners), ""
    try:
        _prepare(site, target, drawn)
        found = sorted(site.store.glob(target.files))
        if not found:
            raise Failure(f"there is no {target.files}")
        path = drawn.choice(found)
        before = path.read_bytes()
        after = manner(before, drawn)
        path.unlink() if after is None else path.write_bytes(after)
        how = _meet(site, path, before, ended_before=target.state != "begun")
    except Failure as problem:
        failure = str(problem)
    remove(site.store)
    facts = {"file": target.files, "state": target.state, "command": target.command, "manner": manner.__name__}
    return {"case": "damaged file", "seed": seed, "faults": [facts | {"answer": how}], "failure": failure}


def _prepare(site: Site, target: Target, drawn: random.Random) -> None:
    """Make a store that was begun and killed, that has ended, or whose runs were attacked."""
    remove(site.store)
    if target.state != "begun":
        shutil.copytree(site.work / ("twin-attack" if target.state == "attacked" else "twin-train"), site.store)
        return
    changes = site.twin.changes["checkpoint"]
    number = drawn.randint(changes // 3, changes * 2 // 3)
    null = os.open(os.devnull, os.O_WRONLY)
    child = site.start(lambda: watch(site.store, Kill(kind="checkpoint", number=number, note=null)))
    os.close(null)
    if not child.wait(PATIENCE):
        child.kill()
        raise Failure("hung before anything was damaged")


def _meet(site: Site, path: Path, before: bytes, *, ended_before: bool) -> str:
    """Run the command on the damaged store: it goes on, or names the file; with the file mended it ends as its twin."""
    others = {name: facts for name, facts in ended(site.store).items() if name != str(path)}
    child = site.start()
    code = finish(child, (0, 2))
    now = ended(site.store)
    touched = [Path(name).name for name, facts in others.items() if now.get(name) != facts]
    if ended_before and touched:
        raise Failure(f"{', '.join(touched)} had ended, and changed as {path.name} was damaged")
    if code == 0 and not difference(outcome(site.store), site.twin.outcome):
        return "went on to the same end"
    if code == 2 and path.name not in child.said() and path.parent.name not in child.said():
        raise Failure(f"{path.name} is damaged, and the command does not name it: {child.said()[-300:]}")
    if code == 0 and not ended_before:
        raise Failure(f"went on to another end: {difference(outcome(site.store), site.twin.outcome)}")
    if ended_before:
        path.write_bytes(before)
    else:
        path.unlink()
    finish(site.start())
    if differs := difference(outcome(site.store), site.twin.outcome):
        raise Failure(f"with {path.name} mended it differs from its twin: {differs}")
    return "left it alone" if code == 0 else "named the file and stopped"

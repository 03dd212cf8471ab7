"""Power cuts, imitated: of all changes that a command made, those that were not flushed may be lost.

The strict reading of POSIX: a file's content is on the disk after an fsync of the file, its name after an fsync of its
folder. Everything else is there, partly there, or not, by lot. `states` checks the order of the flushes at every point
at which the power may go; `cut` takes one of them and lets the command go on from there.
"""

import os
import pickle
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.torture.chains import Failure, Twin, finish, place
from benchmarks.torture.children import STEPS, remove
from benchmarks.torture.disk import Event, Log, watch

NEEDED = ("weights.safetensors", "metrics.jsonl", "spec.json", "environment.json")  # what a result stands for


@dataclass
class Inode:
    """A file: what it holds, and what of it is on the disk (None: nothing was ever flushed)."""

    content: bytes = b""
    flushed: bytes | None = None

    def after_cut(self, drawn: random.Random) -> bytes:
        """Return what is left: all that was flushed, and a part of what came after it."""
        kept = self.flushed or b""
        rest = self.content[len(kept) :] if self.content.startswith(kept) else b""
        return kept + rest[: drawn.choice([0, len(rest), drawn.randint(0, len(rest))])]


Entries = dict[str, "Inode | None"]  # None is a folder


@dataclass
class Disk:
    """The folders of a store as programs see them, and as they are on the disk, with the changes in between."""

    seen: dict[str, Entries] = field(default_factory=dict)
    flushed: dict[str, Entries] = field(default_factory=dict)
    pending: dict[str, list[tuple[str, str, "Inode | None"]]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Make a change."""
        folder, name = os.path.split(event.path)
        entries = self.seen.setdefault(folder, {})
        if event.what in ("create", "mkdir"):
            self._set(folder, name, Inode() if event.what == "create" else None)
        elif event.what == "write":
            inode = entries[name]
            assert inode is not None
            inode.content += event.data
        elif event.what == "replace":
            source = Path(event.source).name
            inode = entries[source]
            self._drop(folder, source)
            self._set(folder, name, inode)
        elif event.what in ("unlink", "rmdir"):
            self._drop(folder, name)
        elif event.path in self.seen or entries.get(name, entries) is None:
            self.flushed[event.path] = dict(self.seen.get(event.path, {}))
            self.pending[event.path] = []
        elif (inode := entries.get(name)) is not None:
            inode.flushed = inode.content

    def _set(self, folder: str, name: str, inode: "Inode | None") -> None:
        self.seen.setdefault(folder, {})[name] = inode
        self.pending.setdefault(folder, []).append(("set", name, inode))

    def _drop(self, folder: str, name: str) -> None:
        self.seen[folder].pop(name, None)
        self.pending.setdefault(folder, []).append(("drop", name, None))

    def after_cut(self, root: str, drawn: random.Random) -> dict[str, bytes | None]:
        """Draw what is on the disk after a power cut: contents by path, None for a folder."""
        found: dict[str, bytes | None] = {}
        in_order = drawn.random() < 0.5  # as a journal has it; or any of them
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            entries, changes = dict(self.flushed.get(folder, {})), self.pending.get(folder, [])
            if in_order:
                lucky = changes[: drawn.randint(0, len(changes))]
            else:
                lucky = [change for change in changes if drawn.random() < 0.5]
            for what, name, inode in lucky:
                if what == "set":
                    entries[name] = inode
                else:
                    entries.pop(name, None)
            for name, inode in entries.items():
                path = f"{folder}/{name}"
                found[path] = None if inode is None else inode.after_cut(drawn)
                if inode is None:
                    waiting.append(path)
        return found


def changes_of(work: Path, twins: dict[str, Twin]) -> tuple[str, list[Event]]:
    """Let the training end undisturbed; return its store, and every change of a file that it made."""
    site = place("train", work, 0, twins)
    log, path = Log(), work / "changes.pickle"
    finish(site.start(lambda: watch(site.store, log), at_end=lambda: path.write_bytes(pickle.dumps(log.events))))
    remove(site.store)
    return str(site.store), pickle.loads(path.read_bytes())


def states(root: str, events: list[Event], lots: int) -> dict[str, Any]:
    """Check what is on the disk after a cut before every change, drawn several times; list what is wrong."""
    disk, drawn, wrong = Disk(), random.Random("states"), set()
    last = _last_contents(events)
    renamed: set[str] = set()
    promised: set[str] = set()
    count = 0
    for number, event in enumerate(events):
        for _ in range(lots):
            count += 1
            wrong |= {f"before change {number}: {what}" for what in _wrong(disk.after_cut(root, drawn), last, promised)}
        disk.apply(event)
        if event.what == "replace" and event.path.endswith("/result.json"):
            renamed.add(event.path)
        if event.what == "fsync":
            promised |= {path for path in renamed if str(Path(path).parent) == event.path}
    return {"states": count, "changes": len(events), "wrong": sorted(wrong)}


def _last_contents(events: list[Event]) -> dict[str, bytes]:
    """Find the content that every file has in the end."""
    disk, last = Disk(), {}
    for event in events:
        disk.apply(event)
        folder, name = os.path.split(event.path)
        inode = disk.seen.get(folder, {}).get(name)
        if inode is not None:
            last[event.path] = inode.content
    return last


def _wrong(found: dict[str, bytes | None], last: dict[str, bytes], promised: set[str]) -> list[str]:
    """List what must not be on a disk: a final name on half a file, a result or a checkpoint without what it needs."""
    wrong = [f"{_short(path)} was promised and is gone" for path in promised if path not in found]
    for path, content in found.items():
        folder, name = os.path.split(path)
        if content is None or ".tmp" in name:
            continue
        if name == "metrics.jsonl":
            if not last[path].startswith(content):
                wrong.append(f"{_short(path)} is not a beginning of the journal")
        elif content != last[path]:
            wrong.append(f"{_short(path)} is not whole")
        needed: list[str] = []
        if name == "result.json":
            needed = [f"{folder}/{other}" for other in NEEDED]
        elif folder.endswith("/checkpoints"):
            run = str(Path(folder).parent)
            needed = [f"{run}/spec.json", f"{run}/environment.json"]
            if (found.get(f"{run}/metrics.jsonl") or b"").count(b"\n") < int(Path(name).stem) // STEPS:
                wrong.append(f"{_short(path)} is there, and the journal lacks an epoch before it")
        for other in needed:
            if other not in found or (name == "result.json" and found[other] != last[other]):
                wrong.append(f"{_short(path)} is there, {_short(other)} is not, or not whole")
    return wrong


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-2:])


def cut(seed: int, work: Path, twins: dict[str, Twin], root: str, events: list[Event]) -> dict[str, Any]:
    """Cut the power at a drawn change, put what is left on the disk into a store, and let the command go on."""
    drawn = random.Random(f"power {seed}")
    number = drawn.randint(len(events) // 20, len(events))
    disk, failure = Disk(), None
    for event in events[:number]:
        disk.apply(event)
    site = place("train", work, seed, twins)
    site.store.mkdir(parents=True)
    found = disk.after_cut(root, drawn)
    for path, content in sorted(found.items()):
        target = site.store / os.path.relpath(path, root)
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.write_bytes(content)
    try:
        site.end()
    except Failure as problem:
        failure = str(problem)
    remove(site.store)
    facts = {"change": number, "of": len(events), "files_left": sum(content is not None for content in found.values())}
    return {"case": "power cut", "seed": seed, "faults": [facts], "failure": failure}

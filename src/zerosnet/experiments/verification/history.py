"""Questions to git: is a commit known, what were its sources, and which of two commits came first."""

import subprocess
from functools import cache
from pathlib import Path

from zerosnet.environment import digest, is_source

_PACKAGE = "src/zerosnet/"


class GitHistory:
    """The history of the checkout that a folder lies in; `whole` is False if there is none, or only its newest part."""

    def __init__(self, folder: Path) -> None:
        top = _git(folder, "rev-parse", "--show-toplevel") if folder.is_dir() else None
        self.top = None if top is None else Path(top.decode().strip())
        self._ask = cache(self._git)
        self._digests = cache(self._digest)
        self.whole = self._ask("rev-parse", "--is-shallow-repository") == b"false\n"

    @property
    def is_ours(self) -> bool:
        """True if the history is whole and that of this package, so that it has the commits that runs name."""
        return self.whole and self.top is not None and (self.top / _PACKAGE / "environment.py").exists()

    def has(self, commit: str) -> bool:
        """Check if a commit is in the history."""
        return self._ask("cat-file", "-e", f"{commit}^{{commit}}") is not None

    def is_before(self, first: str, second: str) -> bool:
        """Check if the first commit is the second, or one that it was made on top of."""
        return self._ask("merge-base", "--is-ancestor", first, second) is not None

    def source_digest(self, commit: str) -> str | None:
        """Compute what `zerosnet.environment.source_digest` gives at a commit; None if that had no package."""
        return self._digests(commit)

    def added(self, folder: Path) -> dict[Path, str]:
        """Find the commit that added each file of a folder; files that are not committed are left out."""
        if self.top is None:
            return {}
        lines = self._ask("log", "--diff-filter=A", "--format=commit %H", "--name-only", "-z", "--", str(folder))
        found: dict[Path, str] = {}
        commit = ""
        for part in (lines or b"").replace(b"\n", b"\0").split(b"\0"):
            text = part.decode("utf-8", "surrogateescape")
            if text.startswith("commit "):
                commit = text.removeprefix("commit ")
            elif text:
                found[self.top / text] = commit  # from new to old: the first time it was added stays
        return found

    def content(self, commit: str, path: Path) -> bytes | None:
        """Read a file as it was at a commit."""
        if self.top is None:
            return None
        return self._ask("show", f"{commit}:{path.relative_to(self.top).as_posix()}")

    def _git(self, *arguments: str, given: bytes | None = None) -> bytes | None:
        return None if self.top is None else _git(self.top, *arguments, given=given)

    def _digest(self, commit: str) -> str | None:
        listed = self._ask("ls-tree", "-r", "-z", "--format=%(objectname) %(path)", commit, "--", _PACKAGE)
        names = [line.decode().partition(" ")[::2] for line in (listed or b"").split(b"\0") if line]
        kept = [(blob, path) for blob, path in names if is_source(path)]
        blobs = self._git("cat-file", "--batch", given="".join(f"{blob}\n" for blob, _ in kept).encode())
        if not kept or blobs is None:
            return None
        return digest(zip((path.removeprefix(_PACKAGE) for _, path in kept), _contents(blobs)))


def _contents(batch: bytes) -> list[bytes]:
    """Split what `git cat-file --batch` prints: a line with the size, the content, a newline."""
    found, place = [], 0
    while place < len(batch):
        end = batch.index(b"\n", place)
        size = int(batch[place:end].split()[2])
        found.append(batch[end + 1 : end + 1 + size])
        place = end + size + 2
    return found


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes | None:
    """Run git in a folder; None if it fails or there is no git."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(folder), *arguments],
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=60,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None

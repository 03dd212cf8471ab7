"""What a result was made with: versions, hardware, commit.

Recorded beside every run and every benchmark. Heavy packages are not imported to be asked for their version, and
nothing personal is recorded: no user or host names, no paths.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any

from zerosnet import __version__

_PACKAGES = ("torch", "torchvision", "timm", "numpy", "triton", "safetensors", "scikit-learn")
_SOURCES = (".py", ".cu", ".cuh")
UNCOMMITTED, NO_COMMIT = "uncommitted changes", "no commit recorded"
ORIGIN_MARKS = {UNCOMMITTED: "†", NO_COMMIT: "°"}  # in tables


def environment() -> dict[str, Any]:
    """Versions, platform, processor, GPUs and commit, as a JSON-ready object.

    GPUs are listed if torch is already loaded and sees some; this function never loads torch itself.
    """
    return {
        "zerosnet": __version__,
        "git": git_state(),
        "source": source_digest(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": {"model": _cpu_model(), "cores": usable_cores()},
        "gpu": _gpu(),
    }


def git_state() -> dict[str, Any] | None:
    """The commit this package is of, and whether files differ from it; None if nothing tells.

    A checkout tells both. Outside of one `commit.txt` names the commit if `git archive` made the copy; whether files
    were changed since then is not known.
    """
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        archived = _archived_commit()
        return None if archived is None else {"commit": archived, "dirty": None}
    commit = _git(checkout, "rev-parse", "HEAD")
    changes = _git(checkout, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "dirty": None if changes is None else bool(changes)}


@cache
def source_digest() -> str:
    """Hash the package's sources, so that a record tells which code it is of even in a copy without git."""
    package = Path(__file__).parent
    files = (path for path in package.rglob("*") if is_source(path.name))
    return digest((path.relative_to(package).as_posix(), path.read_bytes()) for path in files)


def is_source(name: str) -> bool:
    """Return True for the name of a file that `source_digest` counts."""
    return name.endswith(_SOURCES)


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Hash files, given by path and content, in the order of their paths."""
    result = blake2b(digest_size=16)
    for name, content in sorted(files):
        result.update(f"{name} {len(content)}\n".encode())
        result.update(content)
    return result.hexdigest()


def today() -> str:
    """Return date and time in UTC, as records have them: 2026-11-16 20:17 UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def origin_problem(record: Mapping[str, Any]) -> str | None:
    """Name what is wrong with the origin of a result, for marks in tables; None if its code is known.

    Args:
        record: The content of an environment.json; an empty one is that of a run that has not begun.
    """
    if not record:
        return None
    git = record.get("git")
    git = git if isinstance(git, Mapping) else {}
    if git.get("dirty"):
        return UNCOMMITTED
    return None if git.get("commit") or record.get("source") else NO_COMMIT


def _archived_commit() -> str | None:
    """What `git archive` put in the place of commit.txt's placeholder (see .gitattributes), if it did."""
    try:
        text = Path(__file__).with_name("commit.txt").read_text().strip()
    except OSError:
        return None
    return text if text and "$" not in text else None


def _git(checkout: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(checkout), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def usable_cores() -> int:
    """Count the cores that this process may use, which on a shared machine are fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpu() -> dict[str, Any] | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return {
        "names": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "driver": gpu_driver(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }


def gpu_driver() -> str | None:
    """Read the version of NVIDIA's driver; None if there is none."""
    path = Path("/sys/module/nvidia/version")
    return path.read_text().strip() if path.exists() else None

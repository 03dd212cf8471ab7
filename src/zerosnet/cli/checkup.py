"""The checks of `zerosnet doctor`, as JSON-ready values."""

import os
import re
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.data import Source

# extra -> what it is for; an extra that is not listed is shown without a purpose
PURPOSES = {
    "bench": "benchmarks beside NodePy",
    "docs": "building the documentation",
    "explore": "zerosnet explore, the local web page",
    "export": "zerosnet export --format onnx",
    "ray": "runs spread over a cluster",
    "tensorboard": "zerosnet train --log tensorboard",
    "test": "make test",
    "trackio": "zerosnet train --log trackio",
    "wandb": "zerosnet train --log wandb",
}
PARTS = ("train", "test", "val")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w.-]+)['"]""")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def devices() -> list[dict[str, str]]:
    """List every device that training may use, the engine it gets, and why."""
    import torch

    from zerosnet.kernels import reason_against_compiler, reason_against_device

    gpus = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    cpu = torch.device("cpu")
    threads = torch.get_num_threads()
    native = "kernels of our own for CIFAR-size networks with basic blocks, torch for others"
    reasons = {device: reason_against_device(device) or reason_against_compiler(device) or "" for device in gpus}
    reasons[cpu] = "the kernels are for CUDA devices" if gpus else reason_against_device(cpu) or ""
    return [
        {
            "device": str(device),
            "name": torch.cuda.get_device_name(device)
            if device in gpus
            else f"{threads} thread{'' if threads == 1 else 's'}",
            "engine": "torch" if reason else "native",
            "why": reason or native,
        }
        for device, reason in reasons.items()
    ]


def extras() -> list[dict[str, Any]]:
    """List the optional parts of this package, from its metadata, and if they are installed."""
    needed: dict[str, list[str]] = {}
    for requirement in metadata.requires("zerosnet") or []:
        extra, name = _EXTRA.search(requirement), _NAME.match(requirement)
        if extra and name and name.group().lower() != "zerosnet":
            needed.setdefault(extra.group(1), []).append(name.group())
    rows = []
    for extra_name in sorted(needed):
        missing = [package for package in needed[extra_name] if not _is_installed(package)]
        rows.append(
            {
                "extra": extra_name,
                "installed": not missing,
                "missing": missing,
                "for": PURPOSES.get(extra_name, ""),
                "remedy": f"pip install 'zerosnet[{extra_name}]'" if missing else "",
            }
        )
    return rows


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def data_sets(root: Path) -> list[dict[str, str]]:
    """List every data set as "yes" (whole), "no" (not there), or "damaged" with the first problem found."""
    from zerosnet.data import SOURCES

    looks: dict[str, Callable[[Path], str | None]] = {
        name: partial(_read, entry) for name, entry in SOURCES.items() if entry.read is not None
    }
    inner = sorted(path.parent.name for path in root.glob("*/train") if path.is_dir())
    looks |= {
        "folder, imagefolder": _classes,
        **{f"[image]folder:{name}": partial(_classes, name=name) for name in inner},
    }
    looks["CIFAR-10-C"] = _corruptions
    return [_state(name, look, root) for name, look in looks.items()]


def _state(name: str, look: Callable[[Path], str | None], root: Path) -> dict[str, str]:
    try:
        remark = look(root)
    except (InputError, OSError, ValueError) as error:
        return {"dataset": name, "state": "damaged", "remark": str(error)}
    return {"dataset": name, "state": "no" if remark is None else "yes", "remark": remark or ""}


def _read(entry: "Source", root: Path) -> str | None:
    """Read a data set; None if not even the folder of its first file exists."""
    assert entry.read is not None
    try:
        train, test = entry.read(root)
    except InputError as error:
        path, is_missing, _ = str(error).partition(" is missing")
        if is_missing and not Path(path).parent.is_dir():
            return None
        raise
    return f"{len(train)} images to train, {len(test)} to test"


def _classes(root: Path, name: str = "") -> str | None:
    """Count the classes of a folder of images, which may be too large to read."""
    parts = {part: [path for path in (root / name / part).glob("*") if path.is_dir()] for part in PARTS}
    found = [f"{len(classes)} classes in {part}" for part, classes in parts.items() if classes]
    return ", ".join(found) or None


def _corruptions(root: Path) -> str | None:
    from zerosnet.robustness import find_corruptions

    found = find_corruptions(root)
    return None if found is None else f"{len(found.names)} corruptions of {found.per_severity} images"


def store(folder: Path) -> dict[str, Any]:
    """Count the runs of a store and find out if more can be written into it."""
    leads_nowhere = folder.is_symlink() and not folder.exists()
    nearest = next(place for place in (folder, *Path(os.path.realpath(folder)).parents) if place.exists())
    return {
        "folder": str(folder),
        "runs": len(list(folder.glob("*/spec.json"))),
        "writable": not leads_nowhere and nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK),
    }

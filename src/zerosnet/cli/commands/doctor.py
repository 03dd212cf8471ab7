"""`zerosnet doctor`: what is here, what is missing, and what for."""

import os
import re
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zerosnet.cli.main import app
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


@app.command(short_help="Show what is installed and found here, and what is missing.")
def doctor(
    data: Annotated[str | None, typer.Option(metavar="DIR", help="A folder to look for data sets in.")] = None,
    store: Annotated[str, typer.Option(help="The folder that holds the runs.")] = "runs",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Show versions, devices and the engine that each gets, optional parts, data sets, and the store.

    Data sets are read as a whole, so that a damaged file is found.
    """
    if data is not None and not Path(data).is_dir():
        raise InputError(f"--data is {data}, which is no folder")
    import torch  # so that GPUs are in the environment  # noqa: F401

    from zerosnet.environment import environment

    found = {
        "environment": environment(),
        "devices": find_devices(),
        "extras": find_extras(),
        "data": None if data is None else find_data_sets(Path(data)),
        "store": look_at_store(Path(store)),
    }
    if json:
        import json as encoder

        print(encoder.dumps(found, indent=2))
        return
    _show(found, data)


def _show(found: dict[str, Any], data: str | None) -> None:
    from zerosnet.cli.output import print_facts, print_table

    environment = found["environment"]
    packages = {"Python": environment["python"], **environment["packages"]}
    print_facts(
        f"zerosnet {environment['zerosnet']}",
        [
            ("versions", ", ".join(f"{name} {version}" for name, version in packages.items() if version)),
            ("missing", ", ".join(name for name, version in packages.items() if not version) or "nothing"),
            ("system", environment["platform"]),
            ("processor", f"{environment['cpu']['model']}, {environment['cpu']['cores']} cores"),
        ],
    )
    print()
    rows = [[row[key] for key in ("device", "name", "engine", "why")] for row in found["devices"]]
    print_table("Training", ("device", "", "engine", "why"), rows)
    print()
    rows = [[row["extra"], "yes" if row["installed"] else "no", row["for"], row["remedy"]] for row in found["extras"]]
    print_table("Optional parts", ("extra", "here", "for", "to get it"), rows)
    print()
    if found["data"] is None:
        print("Data sets: digits is always there; for others give --data DIR.")
    else:
        rows = [[row["dataset"], row["state"], row["remark"]] for row in found["data"]]
        print_table(f"Data sets in {data}", ("data set", "here", "remark"), rows)
    store = found["store"]
    print(f"\nStore {store['folder']}: {store['runs']} runs, {'can' if store['writable'] else 'CANNOT'} be written")


def find_devices() -> list[dict[str, str]]:
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


def find_extras() -> list[dict[str, Any]]:
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


def find_data_sets(root: Path) -> list[dict[str, str]]:
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


def look_at_store(folder: Path) -> dict[str, Any]:
    """Count the runs of a store and find out if more can be written into it."""
    leads_nowhere = folder.is_symlink() and not folder.exists()
    nearest = next(place for place in (folder, *Path(os.path.realpath(folder)).parents) if place.exists())
    return {
        "folder": str(folder),
        "runs": len(list(folder.glob("*/spec.json"))),
        "writable": not leads_nowhere and nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK),
    }

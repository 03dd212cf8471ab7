"""Attack networks that come with the package, and keep the results beside the records of their runs.

    python -m tools.attack_packaged DATA [STORE]
        --protocol NAME    pgd-whitebox (the default) or autoattack
        --eps RADIUS       may be repeated; 0.25/255, 0.5/255, 1/255 and 2/255 by default
        --images N         attack N test images, chosen at random by seed 1 (200)
        --only NETWORK     one of the networks

Records have no weights, but those of one run per architecture come with the package, convolutions and classifier in
float16. `zerosnet attack zerosnet56_opt.cifar10` prints what it measures; this command also writes it to
STORE/<run>/attacks (results/runs). The radii are small, so that something is left of networks without defence.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zerosnet import files
from zerosnet.errors import InputError
from zerosnet.models import model_facts
from zerosnet.robustness import read_radius
from zerosnet.training import Store, attack_runs, find_device, trained_run

NETWORKS = ("zerosnet56_opt.cifar10", "preresnet56.cifar10")
PROTOCOL = "pgd-whitebox"
RADII = ("0.25/255", "0.5/255", "1/255", "2/255")
IMAGES = 200


def attack(
    name: str,
    data: Path,
    store: Path,
    images: int = IMAGES,
    protocol: str = PROTOCOL,
    eps: Sequence[str] = RADII,
    attack_runs: Callable[..., Any] = attack_runs,
) -> Path:
    """Attack one network and write the result beside its run; return the file.

    Raises:
        InputError: The store has no record of its run.
    """
    facts = model_facts(name)
    folder = store / facts["run"]
    if not (folder / "spec.json").exists():
        raise InputError(f"store is {store}, which has no run {facts['run']}; expected one with it")
    radii = tuple(map(read_radius, eps))
    with trained_run(name) as record:
        attack_runs(
            Store(store),
            [record],
            protocol,
            device=find_device("auto"),
            data=data,
            images=images,
            eps=radii,
            report=lambda line: print(line, flush=True),
        )
        (written,) = (record.folder / "attacks").glob("*.json")
        found = files.read_json(written)
    note = f"measured on the weights that come with the package ({name}): {facts['weights']}"
    found = {**found, "run": facts["run"], "notes": [*found["notes"], note]}
    target = folder / "attacks" / written.name
    files.write_json(target, found)
    return target


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.attack_packaged")
    parser.add_argument("data", type=Path)
    parser.add_argument("store", type=Path, nargs="?", default=Path("results/runs"))
    parser.add_argument("--protocol", choices=(PROTOCOL, "autoattack"), default=PROTOCOL)
    parser.add_argument("--eps", action="append")
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--only", choices=NETWORKS)
    given = parser.parse_args(arguments)
    try:
        for name in NETWORKS if given.only is None else (given.only,):
            print(attack(name, given.data, given.store, given.images, given.protocol, given.eps or RADII))
    except InputError as error:
        print(f"attack_packaged: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

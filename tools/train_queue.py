"""Train sweeps whose runs have no record yet, one group after the other, and keep the records of each at once.

    python -m tools.train_queue DATA STORE RECORDS SWEEP... [--max-seconds S] [--known RUNS] [--kernels native|torch]

Networks that share a step are a group. A group is trained, measured by the protocols of its sweep (BY_SWEEP) or of its
recipe (BY_RECIPE), and its blocks are switched off; then its records are copied into RECORDS, before the next group
begins. So a cut loses one group at most, and the same command goes on with it if STORE is still there:
runs that had ended, but have no record yet, are measured first.

Runs with a record in RUNS (results/runs) or in RECORDS are left out. With --max-seconds a group is not begun if it
would take longer than what is left, by the measured rates for groups of its size (tools/queue_plan.py lists them); the
next one that fits is. With --in-pieces it is begun nevertheless: it stops with checkpoints, and the same command goes
on with it if STORE is still there.
Predictions have to be committed before: see tools/register.py.

A network on which others make their examples is trained first, also if it has a record, which holds no weights: that
record stays as it is.

Networks of adversarial training are shown AutoAttack, which needs pyautoattack. For a machine where nothing can be
installed, `pip install --no-deps --target FOLDER pyautoattack`, and put FOLDER into PYTHONPATH there. It takes one
network at a time. The 500 images of adversarial-seeds are an estimated minute per network on an H200: about 1,900
passes with gradients and 5,000 without for every image that resists. On two cores they take one to two and a half
hours, by the times on record for 100 images. Times to measure are not part of a group's time.

A run that names its precision means it to the letter: a state in float32, which our kernels do not have. Such runs, as
those of plain-torch.json, are trained with --kernels torch only.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from tools.markdown_tables import ROOT
from tools.reduce import reduce
from zerosnet.errors import InputError
from zerosnet.experiments import ablate, group_seconds
from zerosnet.robustness import protocol
from zerosnet.training import (
    Clock,
    Lines,
    Options,
    RunRecord,
    RunSpec,
    Store,
    attack_runs,
    distinct,
    find_device,
    plan_runs,
    read_sweep,
    surrogates_among,
    train,
)


@dataclass(frozen=True)
class Shown:
    """A protocol that networks are shown, with the number of images (None: all) and the radii (None: its own)."""

    protocol: str
    images: int | None = None
    eps: tuple[float, ...] | None = None


NOISE = Shown("paper-noise")
SMALL = tuple(levels / 255 for levels in (0.25, 0.5, 1, 2))
"""Radii at which something is left of networks without defence."""
USUAL = (NOISE,)
BY_RECIPE = {
    "mnist-fgsm": (Shown("paper-fgsm"),),
    "noise": (NOISE, Shown("smoothing")),
    "pgd-madry": (NOISE, Shown("pgd-whitebox", 500), Shown("autoattack", 100)),
    "pgd-paper": (NOISE, Shown("paper-pgd")),
}
"""What networks of a recipe are shown before their weights are lost."""
BY_SWEEP = {
    "adversarial-seeds": (NOISE, Shown("pgd-whitebox", 500), Shown("autoattack", 500)),
    "undefended": (NOISE, Shown("pgd-whitebox", 1000, SMALL), Shown("corruptions")),
}
"""What the networks of a sweep are shown instead, as results/sweeps/README.md promises."""
Asked = Mapping[str, Sequence[Shown]]
KNOWN = ROOT / "results/runs"


def waiting(sweeps: Sequence[Path], known: Sequence[Path]) -> list[RunSpec]:
    """List the runs of sweeps, in their order, that no folder of records has."""
    specs = distinct(spec for path in sweeps for spec in read_sweep(path))
    return [spec for spec in specs if not any((folder / spec.id / "result.json").exists() for folder in known)]


def check_arithmetic(specs: Sequence[RunSpec], kernels: str | None) -> None:
    """Raise an error if a run names its precision, unless plain torch trains it: our kernels' state has 24 bits."""
    if kernels != "torch" and (named := [spec for spec in specs if spec.precision is not None]):
        raise InputError(
            f"kernels is {kernels or 'not given'}, but {named[0].id} asks for precision {named[0].precision} by name; "
            "expected --kernels torch"
        )


def protocols(sweeps: Sequence[Path]) -> dict[str, list[Shown]]:
    """List what every run of sweeps is shown, by its id: what one of them asks for, or what its recipe does."""
    asked: dict[str, dict[Shown, None]] = {}
    for path in sweeps:
        for spec in read_sweep(path):
            asked.setdefault(spec.id, {}).update(dict.fromkeys(BY_SWEEP.get(path.stem, of_recipe(spec))))
    return {run: list(shown) for run, shown in asked.items()}


def of_recipe(spec: RunSpec) -> Sequence[Shown]:
    """List what networks of a run's recipe are shown."""
    return BY_RECIPE.get(spec.recipe.name, USUAL)


def check_protocols(shown: Iterable[Shown]) -> None:
    """Raise an error if a package is missing that one of the protocols needs."""
    for name in {one.protocol for one in shown}:
        protocol(name).ready()


def surrogates(specs: Sequence[RunSpec], sweeps: Sequence[Path]) -> list[RunSpec]:
    """List the runs of sweeps on whose networks the examples of others are made, and which are not among these."""
    asked = distinct(spec for path in sweeps for spec in read_sweep(path))
    return [spec for spec in surrogates_among(asked, specs) if spec not in specs]


def groups(specs: Sequence[RunSpec], store: Store, options: Options) -> Iterator[Sequence[RunSpec]]:
    """Yield the groups that share a step, surrogates first, in the order in which their first runs are listed."""
    places = {spec.id: place for place, spec in enumerate(specs)}
    for stage in plan_runs(specs, store, options).stages():
        yield from sorted(stage, key=lambda group: min(places[spec.id] for spec in group))


def measure(
    records: Sequence[RunRecord],
    device: torch.device,
    data: Path | None,
    report: Callable[[str], None],
    asked: Asked | None = None,
) -> None:
    """Measure finished networks by the protocols that are asked for, by run id, and switch their blocks off.

    Runs that are not among those asked for are measured by the protocols of their recipes.
    """
    finished = [record for record in records if record.status == "finished" and record.has_weights]
    for shown, some in by_protocol(finished, asked or {}).items():
        store = Store(some[0].folder.parent)
        attack_runs(
            store, some, shown.protocol, device=device, data=data, images=shown.images, eps=shown.eps, report=report
        )
    if finished:
        ablate(finished, device, data, report=report)


def by_protocol(records: Sequence[RunRecord], asked: Asked) -> dict[Shown, list[RunRecord]]:
    """List the runs that are shown every protocol."""
    found: dict[Shown, list[RunRecord]] = {}
    for record in records:
        for shown in asked.get(record.id, of_recipe(record.spec)):
            found.setdefault(shown, []).append(record)
    return found


def run(
    sweeps: Sequence[Path],
    options: Options,
    store: Store,
    records: Path,
    known: Path,
    clock: Clock,
    in_pieces: bool = False,
) -> list[str]:
    """Take the queue as far as the clock allows; return the ids of the runs that have ended.

    With `in_pieces` groups that do not fit into the time that is left are begun too.
    """
    device, done, skipped = find_device(options.device), list[str](), list[RunSpec]()
    progress = Lines()

    def finish(specs: Sequence[RunSpec]) -> None:
        """Measure those that have ended, and keep their records."""
        found = (store.get(spec) for spec in specs)
        ended = [record for record in found if record is not None and record.result is not None and record.id in wanted]
        measure(ended, device, options.data, progress.report, asked)
        reduce(store, records, ended)  # theirs alone: others may not have been measured yet
        done.extend(record.id for record in ended)
        for record in ended:
            assert record.result is not None
            progress.report(f"{record.id}  {record.result.test_accuracy}")

    specs = waiting(sweeps, (known, records))
    wanted = {spec.id for spec in specs}
    check_arithmetic(specs, options.kernels)
    asked = protocols(sweeps)
    check_protocols(shown for spec in specs for shown in asked[spec.id])
    _check_writable(records)
    if not clock.must_stop():
        finish(specs)  # what a kill has left between the end of a training and its record
    for group in groups([*surrogates(specs, sweeps), *specs], store, options):
        seconds, left = group_seconds(group), _left(clock)
        about = "?" if seconds is None else f"{seconds:.0f}"
        name = f"{len(group)} x {group[0].model} on {group[0].dataset}, about {about} s"
        too_long = not in_pieces and seconds is not None and seconds > left and device.type == "cuda"
        if clock.must_stop() or too_long:
            progress.report(f"left out: {name}, {max(left, 0):.0f} s left")
            skipped.extend(group)
            continue
        if surrogates_among(skipped, group):
            progress.report(f"left out: {name}, the network of its examples was left out")
            continue
        progress.report(f"next: {name}")
        train(group, store, options, clock=clock, progress=progress)
        finish(group)
    return done


def _check_writable(folder: Path) -> None:
    """Raise an error, before anything is trained, unless records can be kept there."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise InputError(f"records is {folder}, which cannot be written; expected a folder")


def _left(clock: Clock) -> float:
    return float("inf") if clock.deadline is None else clock.deadline - time.monotonic()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.train_queue", description=__doc__.partition("\n")[0])
    for name, what in {"data": "the data sets", "store": "the runs", "records": "what is kept of them"}.items():
        parser.add_argument(name, type=Path, help=f"the folder of {what}")
    parser.add_argument("sweep", type=Path, nargs="+", help="files of results/sweeps")
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--known", type=Path, default=KNOWN, help="records that need not be made again")
    parser.add_argument("--in-pieces", action="store_true", help="begin groups that do not fit into the time")
    parser.add_argument("--kernels", help="native or torch; the best there is by default")
    given = parser.parse_args(arguments)
    try:
        options = Options(data=given.data, kernels=given.kernels)
        with Clock(given.max_seconds) as clock:
            done = run(given.sweep, options, Store(given.store), given.records, given.known, clock, given.in_pieces)
    except InputError as error:
        print(f"train_queue: {error}", file=sys.stderr)
        return 2
    print(f"{len(done)} run(s) ended; records in {given.records}")
    if clock.signal is not None:
        print(f"train_queue: stopped by {clock.signal.name}; the same command goes on", file=sys.stderr)
        return 128 + clock.signal
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

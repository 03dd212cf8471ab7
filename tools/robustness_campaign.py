"""Train and measure what the page on robustness still lacks, one command per question.

    python -m tools.robustness_campaign                    list the questions and their GPU minutes
    python -m tools.robustness_campaign NAME               print the commands of one, with their minutes
    python -m tools.robustness_campaign NAME DATA [STORE]  run them, one after the other
        --images N        attack N test images, chosen at random; noises and corruptions take all
        --max-seconds S   stop training after S seconds, and begin no measurement that would take longer than is left
        --records DIR     copy the records there after every command, in the manner of tools.reduce

DATA holds CIFAR-10. STORE gets the runs (`runs`). What is finished is not run again: the same command goes on where it
was stopped. A command measures one protocol, AutoAttack one radius, so that each of them ends within ten minutes.

Weights are no part of results/runs, and a second training gives others. So a question is refused if a network of it is
on record and STORE has not that very training: another seed is attacked in its place. The network on which examples are
made is trained again; its record stays as it is (tools/reduce.py refuses to replace it).

AutoAttack is a package of plain Python. For a machine where nothing can be installed, put it into a folder that git
ignores, without its examples (44 MB), carry that folder along, and name it there:

    pip install --no-deps --no-compile --target .device-data/site pyautoattack
    rm -r .device-data/site/pyautoattack/examples
    PYTHONPATH=src:.device-data/site python -m tools.robustness_campaign adversarial DATA STORE --records RECORDS

Names of results have signs that not every machine hands back. One file holds all of them:

    tar czf records.tgz RECORDS

Minutes are of one H200: training by measured seconds per epoch (tools/queue_plan.py), attacks by counted passes of an
image over the measured rates of benchmarks/results/robustness-cuda.json, on the line between one network and ten;
corruptions as ten networks took. Attacks skip images that are fooled, so these are upper bounds. AutoAttack is counted
as if no image were fooled.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from tools.markdown_tables import ROOT, benchmark, table
from tools.queue_plan import minutes
from tools.reduce import RESULT, is_same_outcome, reduce
from zerosnet.errors import InputError
from zerosnet.experiments import experiment
from zerosnet.robustness import PROTOCOLS, ProtocolOptions, read_radius
from zerosnet.training import RunSpec, Store, read_sweep

SWEEPS = "results/sweeps"
KNOWN = ROOT / "results/runs"
SMALL = ("0.25/255", "0.5/255", "1/255", "2/255")
IMAGES = 10_000
ONE_SEED = ("zerosnet56*-s1-*", "preresnet20-*-s1-*")  # the networks, and that on which their examples are made
AUTOATTACK = (1900, 5000)  # passes with gradients and without, of an image that is never fooled


@dataclass(frozen=True)
class Step:
    """A protocol, the number of test images that it takes (None: all), and radii in place of its own."""

    protocol: str
    images: int | None = None
    eps: tuple[str, ...] = ()

    def command(self, runs: Sequence[str], places: Sequence[str], images: int | None) -> list[str]:
        """Write the command; `images` replaces the number of those that are attacked."""
        count = images if images is not None and PROTOCOLS[self.protocol].adversarial else self.images
        options = [word for eps in self.eps for word in ("--eps", eps)]
        options += [] if count is None else ["--images", str(count)]
        return ["zerosnet", "attack", *runs, "--protocol", self.protocol, *options, *places]

    def seconds(self, networks: int, images: int | None = None) -> float:
        """Count the seconds of the step on so many fused networks, at most."""
        protocol = PROTOCOLS[self.protocol]
        count = (images if protocol.adversarial else None) or self.images or IMAGES
        if self.protocol == "autoattack":  # one network at a time
            gradients, forward = (_pass(1, kind) * passes for kind, passes in zip(("pgd-20", "noises"), AUTOATTACK))
            return networks * max(1, len(self.eps)) * count * (gradients + forward)
        if self.protocol == "corruptions":
            return float(benchmark("corruptions-cuda")["seconds"])
        assert protocol.passes is not None
        passes = protocol.passes(ProtocolOptions(eps=tuple(map(read_radius, self.eps)) or None))
        return passes * count * _pass(networks, "pgd-20" if protocol.adversarial else "noises")


def _pass(networks: int, kind: str) -> float:
    """Compute the seconds of a pass of one image through fused networks, on the line between one and ten of them."""
    known = benchmark("robustness-cuda")
    most, seconds = len(known["runs"]), known["seconds"]
    alone, fused = seconds[f"{kind}, one by one"] / most, seconds[f"{kind}, fused"]
    passes = known["noise_settings"] if kind == "noises" else known["attack"]["steps"] + 1
    whole: float = alone + (fused - alone) * (networks - 1) / (most - 1)
    return whole / (passes * IMAGES)


@dataclass(frozen=True)
class Campaign:
    """Networks to train, and what is measured of them.

    Attributes:
        train: A command of zerosnet without `zerosnet`, that trains them.
        steps: What is measured afterwards; the results are kept in the store.
        included: Protocols that the first command runs itself.
        page: Whether the first command writes a report.
    """

    what: str
    train: tuple[str, ...]
    specs: tuple[RunSpec, ...]
    steps: tuple[Step, ...]
    included: tuple[Step, ...] = ()
    page: bool = False

    def commands(self, data: str, store: str, images: int | None = None) -> list[list[str]]:
        """List what is to be run: the training, then every step on all networks."""
        places, runs = ["--data", data, "--store", store], [spec.id for spec in self.specs]
        page = ["--output", str(Path(store) / "report.html")] if self.page else []
        return [
            ["zerosnet", *self.train, *places, *page],
            *(step.command(runs, places, images) for step in self.steps),
        ]

    def seconds(self, images: int | None = None) -> list[float]:
        """List the seconds of the commands, at most."""
        trained = minutes(self.specs)
        assert trained is not None
        first = 60 * trained + sum(step.seconds(len(self.specs)) for step in self.included)
        return [first, *(step.seconds(len(self.specs), images) for step in self.steps)]

    def on_record(self, known: Path, store: Path) -> list[str]:
        """List the networks that have a record, unless the store holds that very training, with its weights."""
        runs = [spec.id for spec in self.specs if (known / spec.id / RESULT).exists()]
        return [run for run in runs if not is_same_outcome(store / run, known / run)]


def _sweep(what: str, name: str, *steps: Step) -> Campaign:
    path = f"{SWEEPS}/{name}.json"
    return Campaign(what, ("sweep", path), tuple(read_sweep(ROOT / path)), steps)


def campaigns() -> dict[str, Campaign]:
    """List the questions that are open, by name."""
    return {
        "undefended": _sweep(
            "small radii and corruptions for networks without defence, PreResNet-56 among them",
            "undefended",
            Step("paper-noise"),
            Step("corruptions"),
            Step("pgd-whitebox", 1000, SMALL),
            *(Step("autoattack", 500, (eps,)) for eps in SMALL),
        ),
        "adversarial": _sweep(
            "adversarial training, white-box, a second seed on more images",
            "adversarial-seeds",
            Step("autoattack", 1000),
            Step("pgd-whitebox", 1000),
        ),
        "table-pgd": Campaign(
            "the PGD table of the paper by its own protocol, one seed",
            ("reproduce", "table-pgd", "--scale", "full", *(word for one in ONE_SEED for word in ("--only", one))),
            tuple(spec for spec in experiment("table-pgd").specs() if fnmatch(spec.id, ONE_SEED[0])),
            (Step("autoattack", 1000), Step("pgd-whitebox", 1000)),
            included=(Step("paper-pgd"),),
            page=True,
        ),
    }


def plan() -> str:
    """Write the table of the page: question, networks, minutes, command."""
    rows = []
    for name, one in campaigns().items():
        trained, *measured = (seconds / 60 for seconds in one.seconds())
        parts = " + ".join(f"{one:.1f}" for one in measured)
        listed = [one.what, str(len(one.specs)), f"{trained:.1f}", parts]
        rows.append([*listed, f"`python -m tools.robustness_campaign {name} DATA`"])
    return table(["Question", "Networks", "Training, minutes", "Measuring, minutes per command", "Command"], rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.robustness_campaign")
    parser.add_argument("name", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("store", nargs="?", default="runs")
    parser.add_argument("--images", type=int)
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--records", type=Path)
    given, known = parser.parse_args(arguments), campaigns()
    if given.name is None:
        print(plan())
        return 0
    if given.name not in known:
        print(f"name is {given.name!r}; expected one of {', '.join(known)}, then DATA and STORE", file=sys.stderr)
        return 2
    chosen = known[given.name]
    try:  # what only the last command would find out, after hours of training
        if given.images is not None:
            ProtocolOptions(images=given.images)
        if given.max_seconds is not None and not given.max_seconds > 0:
            raise InputError(f"max-seconds is {given.max_seconds}; expected a number above 0")
        for step in chosen.steps if given.data is not None else ():
            PROTOCOLS[step.protocol].ready()
        if given.data is not None and (there := chosen.on_record(KNOWN, Path(given.store))):
            raise InputError(f"{there[0]} is on record; another training would give other weights, expected new seeds")
    except InputError as error:
        print(f"robustness_campaign: {error}", file=sys.stderr)
        return 2
    commands = chosen.commands(given.data or "DATA", given.store, given.images)
    seconds = chosen.seconds(given.images)
    if given.data is None:
        for command, length in zip(commands, seconds):
            print(f"{' '.join(command)}  # {length / 60:.1f} minutes")
        return 0
    keep = None if given.records is None else partial(_keep, Path(given.store), given.records)
    return run(commands, seconds, given.max_seconds, keep)


def _keep(store: Path, records: Path) -> None:
    """Copy the records of a store."""
    if store.is_dir():
        reduce(Store(store), records, refuse=lambda run: print(f"{run} is in {records} with another outcome"))


def run(
    commands: Sequence[list[str]],
    seconds: Sequence[float],
    max_seconds: float | None = None,
    keep: Callable[[], None] | None = None,
) -> int:
    """Run commands of zerosnet until one fails, or does not fit into the time that is left; return the exit code."""
    end = None if max_seconds is None else time.monotonic() + max_seconds
    for command, length in zip(commands, seconds):
        trains = command[1] != "attack"  # a training is stopped by its own clock, with checkpoints
        left = None if end is None else end - time.monotonic()
        if left is not None and (left <= 0 or (not trains and left < length)):
            print(f"{' '.join(command)} was not begun, {max(left, 0):.0f} s are left; the same command goes on")
            break
        limit = ["--max-seconds", f"{max(left, 1):.0f}"] if left is not None and trains else []
        print(" ".join([*command, *limit]), flush=True)
        code = _call([sys.executable, "-m", *command, *limit])
        if keep is not None:
            keep()
        if code:
            return code
    return 0


def _call(command: list[str]) -> int:
    """Run a command and wait for its end, signals or not: they are handed on, so that it stops with a checkpoint."""
    with subprocess.Popen(command) as process:
        handlers = {
            number: signal.signal(number, lambda number, frame: process.send_signal(number))
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            code = process.wait()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

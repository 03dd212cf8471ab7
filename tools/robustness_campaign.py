"""Train and measure what the page on robustness still lacks, one command per question.

    python -m tools.robustness_campaign                    list the questions and their GPU minutes
    python -m tools.robustness_campaign NAME               print the commands of one
    python -m tools.robustness_campaign NAME DATA [STORE]  run them, one after the other
        --images N        attack N test images, chosen at random, in place of all
        --max-seconds S   stop training after S seconds, and begin nothing after that

DATA holds CIFAR-10. STORE gets the runs (`runs`); weights are not part of results/runs, so networks whose records are
there are trained again. What is finished is not run again: the same command goes on where it was stopped.

AutoAttack is a package of plain Python. For a machine where nothing can be installed, put it into a folder that git
ignores, without its examples (44 MB), carry that folder along, and name it there:

    pip install --no-deps --no-compile --target .device-data/site pyautoattack
    rm -r .device-data/site/pyautoattack/examples
    PYTHONPATH=src:.device-data/site python -m tools.robustness_campaign adversarial DATA STORE --images 1000

Names of results have signs that not every machine hands back. One file holds all of them:

    python -m tools.reduce STORE records && tar czf records.tgz records

Minutes are of one H200: training by measured seconds per epoch (`cost`), attacks by counted passes of an image over the
measured rates of benchmarks/results/robustness-cuda.json, corruptions as in corruptions-cuda.json. All rates are of ten
networks as one; fewer take longer per network. Attacks skip images that are fooled, which makes them faster. The passes
of AutoAttack are not counted: up to 1,900 with gradients and 5,000 without for an image that is never fooled. That is
three minutes for 10,000 images of a network that keeps half of them.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tools.markdown_tables import benchmark, table
from zerosnet.errors import InputError
from zerosnet.experiments import cost, experiment
from zerosnet.robustness import GUESSES, PROTOCOLS, SAMPLES, ProtocolOptions, read_radius
from zerosnet.training import RunSpec, read_sweep

SWEEPS = "results/sweeps"
SMALL = ("0.25/255", "0.5/255", "1/255", "2/255")
IMAGES, CERTIFIED = 10_000, 500
ONE_SEED = ("zerosnet56*-s1-*", "preresnet20-*-s1-*")  # the networks, and that on which their examples are made


@dataclass(frozen=True)
class Campaign:
    """Networks to train, and protocols to run on them.

    Attributes:
        train: A command of zerosnet without `zerosnet`, that trains them.
        protocols: Their names; their results are kept in the store.
        eps: Radii in place of those of the protocols that take some.
        included: Protocols that the first command runs itself.
    """

    what: str
    train: tuple[str, ...]
    specs: tuple[RunSpec, ...]
    protocols: tuple[str, ...] = ()
    eps: tuple[str, ...] = ()
    included: tuple[str, ...] = ()

    def commands(self, data: str, store: str, images: int | None = None) -> list[list[str]]:
        """List what is to be run: the training, then every protocol on all networks, on so many images."""
        places = ["--data", data, "--store", store]
        fewer = [] if images is None else ["--images", str(images)]
        found = [["zerosnet", *self.train, *places]]
        for name in self.protocols:
            radii = [word for eps in self.eps for word in ("--eps", eps)] if PROTOCOLS[name].radii else []
            options = ["--protocol", name, *radii, *fewer, *places]
            found.append(["zerosnet", "attack", *(spec.id for spec in self.specs), *options])
        return found

    def minutes(self) -> tuple[float, float]:
        """Minutes of training, and of those protocols whose passes are counted."""
        trained = cost(self.specs).gpu_seconds
        assert trained is not None
        measured = sum(_seconds(name, self.eps) or 0.0 for name in (*self.included, *self.protocols))
        return trained / 60, measured * len(self.specs) / 60


def _seconds(protocol: str, eps: Sequence[str]) -> float | None:
    """Seconds of a protocol on one of several fused networks; None if its passes are not counted."""
    known = benchmark("robustness-cuda")
    networks = len(known["runs"])
    forward = known["noise_settings"] * networks * IMAGES / known["seconds"]["noises, fused"]
    gradient = (known["attack"]["steps"] + 1) * networks * IMAGES / known["seconds"]["pgd-20, fused"]
    if protocol == "smoothing":
        return CERTIFIED * (SAMPLES + GUESSES) / forward
    if protocol == "corruptions":
        return benchmark("corruptions-cuda")["seconds"] / benchmark("corruptions-cuda")["networks"]
    count = PROTOCOLS[protocol].passes
    if count is None:
        return None
    radii = tuple(map(read_radius, eps)) or None
    passes = count(ProtocolOptions(eps=radii if PROTOCOLS[protocol].radii else None))
    return passes * IMAGES / (gradient if PROTOCOLS[protocol].adversarial else forward)


def _sweep(what: str, name: str, *protocols: str, eps: tuple[str, ...] = ()) -> Campaign:
    path = f"{SWEEPS}/{name}.json"
    return Campaign(what, ("sweep", path), tuple(read_sweep(Path(__file__).parents[1] / path)), protocols, eps)


def campaigns() -> dict[str, Campaign]:
    """List the questions that are open, by name."""
    return {
        "undefended": _sweep(
            "small radii and corruptions for networks without defence, PreResNet-56 among them",
            "undefended",
            "paper-noise",
            "pgd-whitebox",
            "corruptions",
            "autoattack",
            eps=SMALL,
        ),
        "adversarial": _sweep(
            "adversarial training, white-box, on more images", "adversarial", "autoattack", "pgd-whitebox"
        ),
        "table-pgd": Campaign(
            "the PGD table of the paper by its own protocol, one seed",
            ("reproduce", "table-pgd", "--scale", "full", *(word for one in ONE_SEED for word in ("--only", one))),
            tuple(spec for spec in experiment("table-pgd").specs() if fnmatch(spec.id, ONE_SEED[0])),
            ("autoattack", "pgd-whitebox"),
            included=("paper-pgd",),
        ),
    }


def plan() -> str:
    """Write the table of the page: question, networks, minutes, command."""
    rows = []
    for name, one in campaigns().items():
        trained, measured = one.minutes()
        uncounted = [protocol for protocol in one.protocols if _seconds(protocol, one.eps) is None]
        attacks = " and ".join([f"{measured:.1f}", *(f"{other} (not counted)" for other in uncounted)])
        listed = [one.what, str(len(one.specs)), f"{trained:.1f}", attacks]
        rows.append([*listed, f"`python -m tools.robustness_campaign {name} DATA`"])
    return table(["Question", "Networks", "Training, minutes", "Measuring, minutes", "Command"], rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.robustness_campaign")
    parser.add_argument("name", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("store", nargs="?", default="runs")
    parser.add_argument("--images", type=int)
    parser.add_argument("--max-seconds", type=float)
    given, known = parser.parse_args(arguments), campaigns()
    if given.name is None:
        print(plan())
        return 0
    if given.name not in known:
        print(f"name is {given.name!r}; expected one of {', '.join(known)}, then DATA and STORE", file=sys.stderr)
        return 2
    try:  # what only the last command would find out, after hours of training
        if given.images is not None:
            ProtocolOptions(images=given.images)
        if given.max_seconds is not None and not given.max_seconds > 0:
            raise InputError(f"max-seconds is {given.max_seconds}; expected a number above 0")
        for protocol in known[given.name].protocols if given.data is not None else ():
            PROTOCOLS[protocol].ready()
    except InputError as error:
        print(f"robustness_campaign: {error}", file=sys.stderr)
        return 2
    commands = known[given.name].commands(given.data or "DATA", given.store, given.images)
    if given.data is None:
        print("\n".join(map(" ".join, commands)))
        return 0
    return run(commands, given.max_seconds)


def run(commands: Sequence[list[str]], max_seconds: float | None = None) -> int:
    """Run commands of zerosnet until one fails, or the time is over; return the exit code."""
    end = None if max_seconds is None else time.monotonic() + max_seconds
    for command in commands:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            print("the time is over; the same command goes on")
            break
        limit = ["--max-seconds", f"{max(left, 1):.0f}"] if left is not None and command[1] != "attack" else []
        print(" ".join([*command, *limit]), flush=True)
        if code := _call([sys.executable, "-m", *command, *limit]):
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

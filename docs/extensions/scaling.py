"""Writes the tables of docs/scaling.md, from the declared experiments and the rates in benchmarks/results.

    python docs/extensions/scaling.py

A test fails where the page is not what this gives.
"""

import heapq
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from zerosnet.experiments import EXPERIMENTS, Experiment, cost
from zerosnet.training import RunSpec
from zerosnet.training.grouping import share_out

PAGE = Path(__file__).parents[1] / "scaling.md"
RESULTS = Path(__file__).parents[2] / "benchmarks/results"
GPUS = (1, 8, 64)
NODE = 8  # GPUs that share one network of ImageNet size
IMAGES = 1_281_167  # ImageNet's training set
UNKNOWN = "not measured yet"
SHAPES = {
    "cifar10": SimpleNamespace(num_classes=10, in_chans=3, size=(32, 32), train=range(50_000)),
    "cifar100": SimpleNamespace(num_classes=100, in_chans=3, size=(32, 32), train=range(50_000)),
    "mnist": SimpleNamespace(num_classes=10, in_chans=1, size=(28, 28), train=range(60_000)),
}


def paper_table() -> list[str]:
    """A line a table of the paper: networks, and the time on 1, 8 and 64 GPUs; all together last, shared runs once."""
    lines = [
        "| In the paper | Experiment | Networks | " + " | ".join(_gpus(n) for n in GPUS) + " |",
        "|---|---|---|" + "---|" * len(GPUS),
    ]
    trained = [one for one in EXPERIMENTS.values() if _timed(one.specs("full"))]
    for one in trained:
        lines.append(_line(one.reference.partition(" (")[0], f"`{one.name}`", [one]))
    return [*lines, _line("**everything**", "shared runs once", trained)]


def _line(reference: str, name: str, experiments: Sequence[Experiment]) -> str:
    needed, wanted = (
        list({spec.id: spec for one in experiments for spec in specs(one)}.values())
        for specs in (lambda one: one.needed_specs("full"), lambda one: one.specs("full"))
    )
    first = _timed([spec for spec in needed if spec not in wanted])
    timed = _timed(wanted)
    untimed = len(wanted) - len(timed)
    networks = f"{len(first) + len(timed)}" + (f" (and {untimed} not timed)" if untimed else "")
    times = [_duration(_makespan(first, gpus) + _makespan(timed, gpus)) for gpus in GPUS]
    return f"| {reference} | {name} | {networks} | {' | '.join(times)} |"


def _makespan(specs: Sequence[RunSpec], gpus: int) -> float:
    """Seconds until the last group is over, groups and their order as `zerosnet.training.cluster` makes them."""
    data: dict[RunSpec, Any] = {spec: SHAPES[spec.dataset] for spec in specs}
    free = [0.0] * gpus
    for members in share_out(specs, data, torch.device("cuda"), None, gpus):
        seconds = cost(members).gpu_seconds
        assert seconds is not None
        heapq.heapreplace(free, free[0] + seconds * _against_ten(len(members)))
    return max(free)


def _against_ten(replicas: int) -> float:
    """The time of a network in a group of that size against one in a group of ten, as measured at 56 layers."""
    rows = json.loads((RESULTS / "training-cuda.json").read_text())["rows"]
    native = [row for row in rows if row["layers"] == 56 and row["kernels"] == "native"]
    epochs = {row["replicas"]: row["seconds_per_epoch"] for row in native}
    sizes = sorted(epochs)
    low = max(size for size in sizes[:-1] if size <= replicas)
    high = sizes[sizes.index(low) + 1]
    slope = (epochs[high] - epochs[low]) / (high - low)
    return (epochs[low] + slope * (replicas - low)) / replicas / (epochs[10] / 10)


def _timed(specs: Sequence[RunSpec]) -> list[RunSpec]:
    return [spec for spec in specs if cost([spec]).gpu_seconds is not None]


def imagenet_table() -> list[str]:
    """A line a network of the paper's ImageNet table: what one GPU does, and the days of 150 epochs."""
    rates = {
        name: float(rate)
        for path in (RESULTS / f"imagenet-cuda{depth}.json" for depth in ("-18", "-34", ""))
        if path.exists()
        for name, rate in _end_to_end(json.loads(path.read_text()))
    }
    lines = [
        f"| Network | Global batch | Images/s, {_gpus(1)} | {_gpus(1)} | {_gpus(NODE)}, at best |",
        "|---|---|---|---|---|",
    ]
    for spec in EXPERIMENTS["table-imagenet"].specs("full"):
        rate = rates.get(spec.model)
        seconds = None if rate is None else spec.recipe.epochs * IMAGES / rate
        cells = (
            [UNKNOWN] * 3
            if rate is None or seconds is None
            else [f"{rate:,.0f}", _duration(seconds), _duration(seconds / NODE)]
        )
        lines.append(f"| `{spec.model}` | {spec.recipe.batch} | {' | '.join(cells)} |")
    return lines


def _end_to_end(result: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Rates of real training from files of ImageNet's size, which are the last source of the benchmark.

    Decoded as training did it by default when it was measured, or by the GPU alone if that is all there is.
    """
    source = result["sources"][-1]
    for name in (spec.model for spec in EXPERIMENTS["table-imagenet"].specs("full")):
        rate = source.get(name, source.get(f"{name}, decoded by the GPU"))
        if rate is not None:
            yield name, rate


def _gpus(count: int) -> str:
    return f"{count} H200"


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{0 if unit == 'min' else 1}f} {unit}"
    return f"{seconds:.0f} s"


TABLES = {"paper": paper_table, "imagenet": imagenet_table}


def written(text: str) -> str:
    """The page with its tables as they should be: each stands between <!-- table NAME --> and <!-- end -->."""
    for name, table in TABLES.items():
        pattern = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        lines = "\n".join(["", *table(), "", ""])
        text, found = pattern.subn(lambda match: match[1] + lines + match[2], text)  # noqa: B023
        assert found == 1, f"{name}: there are {found} places for it in {PAGE.name}"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

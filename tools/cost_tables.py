"""Tables and numbers about what the paper's experiments cost, from the declared experiments and the measured rates."""

import heapq
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from tools.markdown_tables import benchmark, table
from tools.speed_tables import DECODERS, imagenet_rate
from zerosnet.data import source
from zerosnet.experiments import EXPERIMENTS, Experiment, cost, group_seconds
from zerosnet.experiments.costs import FUSED, per_network
from zerosnet.training import RunSpec
from zerosnet.training.capacity import share_out

GPUS = (1, 8, 64)
NODE = 8  # GPUs that share one network of ImageNet size
IMAGES = 1_281_167  # ImageNet's training set
UNKNOWN = "not measured"
SHAPES = {
    "cifar10": SimpleNamespace(num_classes=10, in_chans=3, size=(32, 32), train=range(50_000)),
    "cifar100": SimpleNamespace(num_classes=100, in_chans=3, size=(32, 32), train=range(50_000)),
    "mnist": SimpleNamespace(num_classes=10, in_chans=1, size=(28, 28), train=range(60_000)),
}


def paper() -> str:
    """List every table of the paper with its networks and its time on 1, 8 and 64 GPUs; everything comes last."""
    heads = ("In the paper", "Experiment", "Networks", *(f"{count} H200" for count in GPUS))
    rows = [_line(one.reference.partition(" (")[0], f"`{one.name}`", [one]) for one in _trained()]
    return table(heads, [*rows, _line("**everything**", "shared runs once", _trained())])


def _trained() -> list[Experiment]:
    return [one for one in _on_gpus() if timed(one.specs("full"))]


def _on_gpus() -> list[Experiment]:
    """Leave out experiments on embedded data, which a CPU does in minutes."""
    return [one for one in EXPERIMENTS.values() if not any(source(spec.dataset).embedded for spec in one.specs("full"))]


def _line(reference: str, name: str, experiments: Sequence[Experiment]) -> tuple[str, ...]:
    first, wanted = _work(experiments)
    networks = str(len(first) + len(timed(wanted)))
    untimed = len(wanted) - len(timed(wanted))
    if untimed:
        networks += f" (and {untimed} not timed)"
    return reference, name, networks, *_times(experiments)


def _work(experiments: Sequence[Experiment]) -> tuple[list[RunSpec], list[RunSpec]]:
    """Return the runs that must be there first (surrogates), and those that are wanted, each once."""
    wanted = {spec.id: spec for one in experiments for spec in one.specs("full")}
    needed = {spec.id: spec for one in experiments for spec in one.needed_specs("full") if spec.id not in wanted}
    return timed(list(needed.values())), list(wanted.values())


def _times(experiments: Sequence[Experiment]) -> list[str]:
    first, wanted = _work(experiments)
    return [duration(makespan(first, gpus) + makespan(timed(wanted), gpus)) for gpus in GPUS]


def makespan(specs: Sequence[RunSpec], gpus: int) -> float:
    """Return the seconds until the last group is over; groups and their order are those that `share_out` makes."""
    data: dict[RunSpec, Any] = {spec: SHAPES[spec.dataset] for spec in specs}
    free = [0.0] * gpus
    for members in share_out(specs, data, torch.device("cuda"), None, gpus):
        seconds = group_seconds(members)
        assert seconds is not None
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _against_ten(kernels: str, replicas: int) -> float:
    return per_network(kernels, replicas) / per_network(kernels, FUSED)


def _deeper_per_block() -> float:
    """Compare a block of 326 layers, timed with three networks, with one of 164, timed with ten."""
    return _other(326) / _other(164) * (164 - 2) / (326 - 2)


def timed(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """Return the runs whose rate was measured."""
    return [spec for spec in specs if cost([spec]).gpu_seconds is not None]


def other_networks() -> str:
    """List the rates of networks that only plain PyTorch trains."""
    rows = []
    for row in benchmark("others-cuda")["rows"]:
        data = {"cifar10": "CIFAR-10", "mnist": "MNIST"}[row["dataset"]]
        engine = "our kernels" if row["kernels"] == "native" else "plain PyTorch"
        numbers = (
            f"{row['step_ms']:.1f}",
            f"{row['seconds_per_epoch_and_network']:.2f}",
            f"{row['peak_memory_gib']:.1f}",
        )
        rows.append((f"ZeroSNet-{row['layers']}, {row['replicas']} fused", data, engine, *numbers))
    return table(("Work", "Data", "By", "ms per step", "s per epoch and network", "peak memory, GiB"), rows)


def _other(layers: int) -> float:
    """Return the seconds per epoch and network of a network that only plain PyTorch trains."""
    rows = [row for row in benchmark("others-cuda")["rows"] if (row["layers"], row["kernels"]) == (layers, "torch")]
    seconds: float = rows[0]["seconds_per_epoch_and_network"]
    return seconds


def imagenet() -> str:
    """List the paper's ImageNet networks: images per second from large files, and the time of all epochs."""
    heads = ("Network", "Global batch", "Images/s, 1 H200", "1 H200", f"{NODE} H200, at best")
    rows = []
    for spec in EXPERIMENTS["table-imagenet"].specs("full"):
        rates = [imagenet_rate(spec.model, who) for who in DECODERS]
        known = [rate for rate in rates if rate is not None]
        cells = [UNKNOWN] * 3
        if known:
            seconds = spec.recipe.epochs * IMAGES / max(known)
            cells = [f"{max(known):,.0f}", duration(seconds), duration(seconds / NODE)]
        rows.append((f"`{spec.model}`", str(spec.recipe.batch), *cells))
    return table(heads, rows)


def duration(seconds: float) -> str:
    """Write a time in days, hours, minutes or seconds."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{0 if unit == 'min' else 1}f} {unit}"
    return f"{seconds:.0f} s"


def _bottlenecks() -> list[RunSpec]:
    """List the runs of the paper that only plain PyTorch trains."""
    return [spec for spec in _everything() if "164" in spec.model or "326" in spec.model]


def _everything() -> list[RunSpec]:
    return list({spec.id: spec for one in _on_gpus() for spec in one.specs("full")}.values())


TABLES: dict[str, Callable[[], str]] = {
    "cost of the paper": paper,
    "cost of ImageNet": imagenet,
    "other networks": other_networks,
}
VALUES: dict[str, Callable[[], str]] = {
    "trainings at full scale": lambda: str(len(_everything())),
    "trainings with a rate": lambda: str(len(timed(_everything()))),
    "everything on 1 GPU": lambda: _times(_trained())[0],
    "everything on 8 GPUs": lambda: _times(_trained())[1],
    "everything on 64 GPUs": lambda: _times(_trained())[2],
    "plain PyTorch, 164 layers": lambda: f"{_other(164):.1f}",
    "plain PyTorch, 326 layers": lambda: f"{_other(326):.1f}",
    "plain PyTorch, MNIST": lambda: f"{_other(56):.2f}",
    "bottlenecks, networks": lambda: str(len(_bottlenecks())),
    "bottlenecks, hours": lambda: f"{makespan(_bottlenecks(), 1) / 3600:.0f}",
    "one network against ten": lambda: f"{_against_ten('native', 1):.1f}",
    "one network against ten, plain PyTorch": lambda: f"{_against_ten('torch', 1):.1f}",
    "three networks against ten, assumed": lambda: f"{_against_ten('torch', 3):.2f}",
    "three networks against ten, per block": lambda: f"{_deeper_per_block():.2f}",
}

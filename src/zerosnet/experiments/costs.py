"""The cost of runs, by measured rates; networks of several streams were not timed and are estimated from these.

training_rates.json comes with the package; `tools/package_numbers.py` writes it from benchmarks/results.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from zerosnet.data import source
from zerosnet.training import RunSpec

_BASIC = 110  # deeper networks are built of bottlenecks: only plain torch trains them, and each depth has its own rate
_TIMED_IMAGES = 50_000  # per epoch of the GPU's rates, 32 x 32 pixels each
# training images, and pixels of one over those of a 32 x 32 image
_SIZES = {
    "cifar10": (50_000, 1.0),
    "cifar100": (50_000, 1.0),
    "mnist": (60_000, 28**2 / 32**2),
    "digits": (1_442, 8**2 / 32**2),
    "mosaics": (6_000, 8**2 / 32**2),
}

FUSED = 10  # networks in the groups whose rates count
_FUSED_DEEPER = {326: 3}

# Bytes of a step with several streams over those of a ZeroSNet of that depth, both by our kernels (counted).
_STREAMS = {
    "_x0": {"20": 1.6, "56": 2.0, "110": 2.7},
    "streams": {"20": 2.2, "56": 2.5, "110": 3.2},
}


@dataclass(frozen=True)
class Cost:
    """Networks, epochs over all of them, and seconds of training (None if no rate was measured).

    Attributes:
        gpu_seconds: One H200, our own kernels if there are any, ten networks as one, three if they have 326 layers;
            attacks and start-up not counted.
        cpu_seconds: Two cores; only for embedded data.
    """

    networks: int
    epochs: int
    gpu_seconds: float | None
    cpu_seconds: float | None


def cost(specs: Iterable[RunSpec]) -> Cost:
    """Add up the cost of runs, each at the rate of a full group; see `group_seconds` for groups of other sizes.

    The rate at other depths than 20, 56 and 110 is on the line between two of them. MNIST has a rate of its own.
    Networks of several streams are estimated by their bytes (`is_estimated`). Adversarial training is counted by its
    passes: seven steps on a 20-layer surrogate and two on the network, for one of the network alone.
    """
    runs = list(specs)
    gpu, cpu = [_gpu_seconds(run) for run in runs], [_cpu_seconds(run) for run in runs]
    return Cost(len(runs), sum(run.recipe.epochs for run in runs), _total(gpu), _total(cpu))


def group_seconds(members: Sequence[RunSpec]) -> float | None:
    """Compute the seconds that runs take as one on an H200; None if no rate was measured.

    Groups of other sizes than the timed ones are on the line between those that were timed at 56 layers.
    """
    seconds = cost(members).gpu_seconds
    return None if seconds is None else seconds * against_timed(members)


def against_timed(members: Sequence[RunSpec]) -> float:
    """Compare the time per network of a group with that of the group whose rate counts."""
    first, count = members[0], len(members)
    kernels = "native" if is_native(first) else "torch"
    timed = _FUSED_DEEPER.get(_layers(first.model), FUSED)
    return per_network(kernels, count) / per_network(kernels, timed)


def per_network(kernels: str, replicas: int) -> float:
    """Compute seconds per epoch and network at 56 layers, on the lines between the groups that were timed."""
    return _on_line(_rates()["epoch_of_group"][kernels], replicas) / replicas


def _on_line(known: Mapping[str, float], place: float) -> float:
    """Read a value off the lines between known places; the first and the last line go on."""
    points = sorted((int(at), float(value)) for at, value in known.items())
    right = min(max(bisect_right([at for at, _ in points], place), 1), len(points) - 1)
    (low, first), (high, second) = points[right - 1 : right + 1]
    return first + (second - first) / (high - low) * (place - low)


def is_native(spec: RunSpec) -> bool:
    """Check if a run's rate is that of our own kernels.

    They train basic blocks with normalisation and 32 x 32 pixels in the standard arithmetic.
    """
    usual = spec.dataset in _SIZES and _SIZES[spec.dataset][1] == 1.0 and spec.precision is None
    return usual and _layers(spec.model) <= _BASIC and "_nonorm" not in spec.model


def is_estimated(spec: RunSpec) -> bool:
    """Check if a run's rate was not measured, but is that of a ZeroSNet times the bytes that it moves more."""
    return is_native(spec) and _streams(spec.model) is not None


def _gpu_seconds(spec: RunSpec) -> float | None:
    layers, settings, streams = _layers(spec.model), spec.recipe.adversarial, _streams(spec.model)
    if spec.dataset not in _SIZES or (streams is not None and not is_native(spec)):
        return None
    if layers > _BASIC:
        return _bottleneck_seconds(spec, layers)
    passes = _of_depth(layers) * (1.0 if streams is None else _on_line(streams, layers))
    if settings is not None:
        attacked = passes if settings.surrogate is None else _of_depth(20)
        passes = passes * (2 if settings.clean_step else 1) + settings.steps * attacked
    if is_native(spec):
        return spec.recipe.epochs * passes * _SIZES[spec.dataset][0] / _TIMED_IMAGES
    against_native = _plain_epoch(spec.dataset) / _rates()["native"]["56"]
    return float(spec.recipe.epochs * passes * against_native)


def _plain_epoch(dataset: str) -> float:
    """Find plain torch's seconds per epoch at 56 layers: those of the data if timed, else by the number of pixels."""
    images, pixels = _SIZES[dataset]
    own = _rates().get(dataset)
    return float(own["56"] if own else _rates()["torch"]["56"] * pixels * images / _TIMED_IMAGES)


def _bottleneck_seconds(spec: RunSpec, layers: int) -> float | None:
    """Count a plain training at the rate of its depth; None if the depth was not timed."""
    rate = _rates()["torch"].get(str(layers))
    if rate is None or spec.recipe.adversarial is not None:
        return None
    images, pixels = _SIZES[spec.dataset]
    return float(spec.recipe.epochs * rate * pixels * images / _TIMED_IMAGES)


def _cpu_seconds(spec: RunSpec) -> float | None:
    if spec.dataset not in _SIZES or not source(spec.dataset).embedded:
        return None
    digits = float(_rates()["digits_on_two_cores"]["20"]) * _layers(spec.model) / 20
    return spec.recipe.epochs * digits * _SIZES[spec.dataset][0] / _SIZES["digits"][0]


@cache
def _rates() -> dict[str, Any]:
    """Read seconds per epoch and network, by the number of layers as text."""
    stored: dict[str, Any] = json.loads(resources.files(__package__).joinpath("training_rates.json").read_text("utf-8"))
    return stored


def _of_depth(layers: int) -> float:
    """Compute seconds per epoch and network by our kernels, on the lines between the depths that were timed."""
    return _on_line(_rates()["native"], layers)


def _streams(model: str) -> Mapping[str, float] | None:
    """Find the relative bytes of a network of several streams by depth; None for one stream."""
    return next((bytes_by_depth for part, bytes_by_depth in _STREAMS.items() if part in model), None)


def _layers(model: str) -> int:
    match = re.search(r"\d+", model)
    assert match is not None
    return int(match[0])


def _total(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None

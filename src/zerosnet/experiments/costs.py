"""The cost of experiments, from measured rates: benchmarks/results/training-{cuda,cpu}.json."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.training import RunSpec

# seconds an epoch of 50,000 images of 32 x 32 takes for one of ten networks trained as one, on one H200, by layers
_H200 = {20: 0.123, 56: 0.305}
# how much longer the plain engine takes, which trains on images of other sizes: ten 56-layer networks in one run
_PLAIN = 0.706 / 0.305
# seconds an epoch of 1,442 digits takes for one network, two at a time on two cores; in proportion to layers
_TWO_CORES_20_LAYERS = 27.76 / (10 * 8)
_BASIC = 110  # deeper networks are built of bottlenecks, which were not timed
# training images, and the time of one against that of a 32 x 32 image on a GPU
_SIZES = {
    "cifar10": (50_000, 1.0),
    "cifar100": (50_000, 1.0),
    "mnist": (60_000, 0.766 * _PLAIN),
    "digits": (1_442, 0.0625 * _PLAIN),
}


@dataclass(frozen=True)
class Cost:
    """Networks, epochs over all of them, and seconds of training (None if no rate was measured).

    Attributes:
        gpu_seconds: One H200, our own kernels if there are any, ten networks as one; attacks and start-up not counted.
        cpu_seconds: Two cores; only for the embedded digits.
    """

    networks: int
    epochs: int
    gpu_seconds: float | None
    cpu_seconds: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def cost(specs: Iterable[RunSpec]) -> Cost:
    """The cost of runs.

    The rate at other depths than 20 and 56 is on the line through the two. Adversarial training is counted by its
    passes: seven steps on a 20-layer surrogate and two on the network, for one of the network alone.
    """
    runs = list(specs)
    gpu, cpu = [_gpu_seconds(run) for run in runs], [_cpu_seconds(run) for run in runs]
    return Cost(len(runs), sum(run.recipe.epochs for run in runs), _total(gpu), _total(cpu))


def _gpu_seconds(spec: RunSpec) -> float | None:
    if spec.dataset not in _SIZES or _layers(spec.model) > _BASIC:
        return None
    images, relative = _SIZES[spec.dataset]
    slope = (_H200[56] - _H200[20]) / 36
    of_depth = lambda layers: _H200[20] + slope * (layers - 20)  # noqa: E731
    layers, settings = _layers(spec.model), spec.recipe.adversarial
    passes = of_depth(layers)
    if settings is not None:
        attacked = 20 if settings.surrogate is not None else layers
        passes = passes * (2 if settings.clean_step else 1) + settings.steps * of_depth(attacked)
    return spec.recipe.epochs * passes * relative * images / 50_000


def _cpu_seconds(spec: RunSpec) -> float | None:
    return spec.recipe.epochs * _TWO_CORES_20_LAYERS * _layers(spec.model) / 20 if spec.dataset == "digits" else None


def _layers(model: str) -> int:
    match = re.search(r"\d+", model)
    assert match is not None
    return int(match[0])


def _total(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None

"""Noises, PGD-20 and corruptions on ten 56-layer networks, fused and compiled, against one network at a time, eagerly.

Networks are finished runs of the store that ZEROSNET_STORE names, images the test set of CIFAR-10 in the folder that
ZEROSNET_DATA names. Where either is not given both are random (and batch statistics those of the images), which is as
much work. Both sides compute convolutions in bf16 on a float32 state, channels last.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.record import by_device
from zerosnet.data import ImageSet
from zerosnet.data.for_test import load_for_test
from zerosnet.models import Network, create_model, extract
from zerosnet.numerics.paper import PAPER_ROWS
from zerosnet.robustness import (
    PAPER_NOISES,
    Attack,
    Normalised,
    Subject,
    constant,
    pgd,
    subject,
    under_attack,
    under_noises,
)
from zerosnet.robustness.perturbations.corruptions import under_regenerated
from zerosnet.training import Store, recipe
from zerosnet.training.finished.networks import as_classifier, load_network

NOISES = (constant(0), *PAPER_NOISES)
ATTACK = pgd(8 / 255, 20)
TARGETS = {"noises, fused": 25.0, "pgd-20, fused": 60.0, "corruptions, fused": 180.0}
MEASURED = ("noises", "pgd-20", "corruptions")
EAGER_BATCH = 1000
FOLDERS = ("ZEROSNET_STORE", "ZEROSNET_DATA")
suffix = by_device


@dataclass(frozen=True, eq=False)
class Work:
    """The same networks fused and one by one, the images, and what both are."""

    fused: Normalised
    alone: Sequence[Normalised]
    test: ImageSet
    networks: str
    images: str
    runs: Sequence[str] = ()


def run(
    device: str | None = None,
    *,
    depth: int = 56,
    images: int = 10_000,
    replicas: int = len(PAPER_ROWS),
    attack: Attack = ATTACK,
    what: Sequence[str] = MEASURED,
) -> dict[str, Any]:
    """Measure on the GPU; elsewhere it is skipped unless a device is asked for (and is slow)."""
    if device is None and not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    device = device or "cuda"
    torch.backends.cudnn.benchmark = True
    store, data = (os.environ.get(name) for name in FOLDERS)
    if store and data:
        work = trained(Store(store), Path(data), depth, images, replicas, torch.device(device))
    else:
        work = random(depth, images, replicas, device)
    together = subject(work.fused, work.test.images, work.test.labels)
    if device == "cuda":
        together = together.compiled()
    batch = min(EAGER_BATCH, len(work.test))
    alone = [subject(network, work.test.images, work.test.labels, batch=batch) for network in work.alone]
    seconds: dict[str, float] = {}
    right = {}
    measures: dict[str, Callable[[Subject], Tensor]] = {
        "noises": lambda target: under_noises(target, NOISES),
        "pgd-20": lambda target: under_attack(target, attack)[None],
        "corruptions": lambda target: torch.stack([one.right for one in under_regenerated(target)]),
    }
    for way, targets in (("fused", [together]), ("one by one", alone)):
        for name in what:
            right[name, way] = _measure(f"{name}, {way}", targets, measures[name], seconds)
    agreement = {name: (right[name, "fused"] == right[name, "one by one"]).float().mean().item() for name in what}
    accuracy = {name: right[name, "fused"].float().mean((0, 1)).tolist() for name in what}
    return {
        "device": device,
        "depth": depth,
        "networks": f"{len(alone)} {work.networks}",
        "runs": list(work.runs),
        "images": f"{len(work.test)} {work.images}",
        "noise_settings": len(NOISES),
        "attack": attack.to_json(),
        "batch": {"fused": together.batch, "one by one": batch},
        "seconds": seconds,
        "corruption_settings": len(right["corruptions", "fused"]) if "corruptions" in what else 0,
        "speed_up": {name: seconds[f"{name}, one by one"] / seconds[f"{name}, fused"] for name in what},
        "targets": TARGETS,
        "targets_met": {name: seconds[name] < target for name, target in TARGETS.items() if name in seconds},
        "accuracy": accuracy,
        "agreement": agreement,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None,
    }


def _measure(
    name: str, targets: Sequence[Subject], measure: Callable[[Subject], Tensor], seconds: dict[str, float]
) -> Tensor:
    """Time one batch, which compiles, then the whole of all; both go into `seconds`. Returns what is right."""
    first = targets[0]
    one_batch = replace(first, images=first.images[: first.batch], labels=first.labels[: first.batch])
    compiling, _ = _timed(measure, one_batch)
    times, right = zip(*(_timed(measure, target) for target in targets))
    seconds |= {name: sum(times), f"{name}, first batch with compilation": compiling}
    print(f"   {name}: {sum(times):.1f} s (first batch {compiling:.1f} s)", flush=True)
    return torch.cat(right, -1)


def _timed(measure: Callable[[Subject], Tensor], target: Subject) -> tuple[float, Tensor]:
    """Seconds until the result is on the host, which waits for the device."""
    start = time.perf_counter()
    right = measure(target)
    return time.perf_counter() - start, right


def trained(store: Store, folder: Path, depth: int, images: int, replicas: int, device: torch.device) -> Work:
    """Finished runs of ZeroSNet on CIFAR-10, recipe paper, seed 1, and the first images of the test set."""
    name, wanted = f"zerosnet{depth}", ("cifar10", recipe("paper", "cifar10"), 1, None, "finished")
    records = [
        record
        for record in store.records()
        if record.spec.model in (name, f"{name}_opt")
        and (record.spec.dataset, record.spec.recipe, record.spec.seed, record.spec.precision, record.status) == wanted
    ][:replicas]
    if len(records) < replicas:
        found = f"{len(records)} finished {name} on cifar10, recipe paper, seed 1"
        raise SystemExit(f"{store.root} has {found}; expected {replicas}")
    data = load_for_test("cifar10", folder)
    networks = [load_network(record) for record in records]
    fused = as_classifier(records, networks, data, device)
    alone = [as_classifier([record], [network], data, device) for record, network in zip(records, networks)]
    test = data.test.to(device)
    first, runs = ImageSet(test.images[:images], test.labels[:images]), [record.id for record in records]
    return Work(fused, alone, first, "trained", "of CIFAR-10", runs)


def random(depth: int, images: int, replicas: int, device: str) -> Work:
    """The paper's coefficient rows with random weights and batch statistics that fit the images, which are random."""
    test = _images(images, device)
    schemes = [row.scheme for row in PAPER_ROWS[:replicas]]
    model = create_model(f"zerosnet{depth}", scheme=schemes, replicas=replicas, seed=list(range(replicas)))
    model = model.to(device).train()
    few = Normalised(model, (0.5,) * 3, (0.25,) * 3).to(device)
    with torch.no_grad():
        for _ in range(20):
            few(test.images[:128].float() / 255)
    state, alone = {name: values.cpu() for name, values in model.state_dict().items()}, []
    for k, scheme in enumerate(schemes):
        single = create_model(f"zerosnet{depth}", scheme=scheme)
        single.load_state_dict(extract(state, k, replicas))
        alone.append(_on(single, device))
    return Work(_on(model, device), alone, test, "with random weights", "random ones")


def _images(count: int, device: str) -> ImageSet:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (count, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return ImageSet(images.to(device), torch.randint(10, (count,), generator=generator).to(device))


def _on(model: Network, device: str) -> Normalised:
    """The network as the measurement wants it: channels last and bf16 convolutions on the GPU."""
    if device == "cuda":
        model.conv_dtype = torch.bfloat16
        model = model.to(device).to(memory_format=torch.channels_last)
    return Normalised(model.eval(), (0.5,) * 3, (0.25,) * 3).to(device)

"""The paper's noises and PGD-20 on ten 56-layer networks, fused and compiled, against one network at a time, eagerly.

Weights and images are random (batch statistics are those of the images): neither changes the work. Both sides compute
convolutions in bf16 on a float32 state, channels last. One by one, one network of ten is measured and its time
multiplied, which the record says.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

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

NOISES = (constant(0), *PAPER_NOISES)
ATTACK = pgd(8 / 255, 20)
TARGETS = {"noises, fused": 25.0, "pgd-20, fused": 60.0}
EAGER_BATCH = 1000


def suffix() -> str:
    return "-cuda" if torch.cuda.is_available() else "-cpu"


def run(
    device: str | None = None,
    *,
    depth: int = 56,
    images: int = 10_000,
    replicas: int = len(PAPER_ROWS),
    attack: Attack = ATTACK,
) -> dict[str, Any]:
    """Measure on the GPU; elsewhere it is skipped unless a device is asked for (and is slow)."""
    if device is None and not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    device = device or "cuda"
    torch.backends.cudnn.benchmark = True
    pixels, labels = _images(images, device)
    fused = _networks(depth, replicas, pixels)
    single = create_model(f"zerosnet{depth}", scheme=PAPER_ROWS[0].scheme)
    single.load_state_dict(extract({name: t.cpu() for name, t in fused.state_dict().items()}, 0, replicas))
    together = subject(_on(fused, device), pixels, labels)
    alone = subject(_on(single, device), pixels, labels, batch=min(EAGER_BATCH, images))
    if device == "cuda":
        together = together.compiled()
    seconds: dict[str, float] = {}
    right = {}
    for name, target, times in (("fused", together, 1), ("one by one", alone, replicas)):
        right[name] = _measure("noises", name, times, target, lambda t: under_noises(t, NOISES), seconds)
        _measure("pgd-20", name, times, target, lambda t: under_attack(t, attack), seconds)
    agreement = (right["fused"][..., 0] == right["one by one"][..., 0]).float().mean().item()
    return {
        "device": device,
        "depth": depth,
        "networks": replicas,
        "images": images,
        "noise_settings": len(NOISES),
        "attack": attack.to_json(),
        "batch": {"fused": together.batch, "one by one": alone.batch},
        "one_by_one": f"eager; one network measured, its seconds times {replicas}",
        "seconds": seconds,
        "speed_up": {w: seconds[f"{w}, one by one"] / seconds[f"{w}, fused"] for w in ("noises", "pgd-20")},
        "targets": TARGETS,
        "targets_met": {name: seconds[name] < target for name, target in TARGETS.items()},
        "agreement_of_network_0": agreement,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None,
    }


def _measure(
    what: str, name: str, times: int, target: Subject, measure: Callable[[Subject], Tensor], seconds: dict[str, float]
) -> Tensor:
    """Time one batch, which compiles, then the whole; both go into `seconds`."""
    one_batch = replace(target, images=target.images[: target.batch], labels=target.labels[: target.batch])
    first, _ = _timed(measure, one_batch)
    whole, right = _timed(measure, target)
    seconds |= {f"{what}, {name}": whole * times, f"{what}, {name}, first batch with compilation": first}
    print(f"   {what}, {name}: {whole * times:.1f} s (first batch {first:.1f} s)", flush=True)
    return right


def _timed(measure: Callable[[Subject], Tensor], target: Subject) -> tuple[float, Tensor]:
    """Seconds until the result is on the host, which waits for the device."""
    start = time.perf_counter()
    right = measure(target)
    return time.perf_counter() - start, right


def _images(count: int, device: str) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (count, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return images.to(device), torch.randint(10, (count,), generator=generator).to(device)


def _networks(depth: int, replicas: int, images: Tensor) -> Network:
    """The paper's coefficient rows, with batch statistics that fit the images."""
    schemes = [row.scheme for row in PAPER_ROWS[:replicas]]
    model = create_model(f"zerosnet{depth}", scheme=schemes, replicas=replicas, seed=list(range(replicas)))
    model = model.to(images.device).train()
    few = Normalised(model, (0.5,) * 3, (0.25,) * 3).to(images.device)
    with torch.no_grad():
        for _ in range(20):
            few(images[:128].float() / 255)
    return model.eval()


def _on(model: Network, device: str) -> Normalised:
    """The network as the measurement wants it: channels last and bf16 convolutions on the GPU."""
    if device == "cuda":
        model.conv_dtype = torch.bfloat16
        model = model.to(device, memory_format=torch.channels_last)
    return Normalised(model.eval(), (0.5,) * 3, (0.25,) * 3).to(device)

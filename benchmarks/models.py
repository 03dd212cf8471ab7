"""Step time and activation memory of ZeroSNet against PreResNet of the same depth, training and test, in one run.

On the GPU: whole network compiled, bf16 convolutions on a float32 state, channels last, one CUDA graph a step. In
training the batch dimension is compiled as dynamic, so that one long compilation a network serves every batch size:
times are then some 15 % above those of fixed shapes, ratios are the same. In test it is fixed. The compilations run
side by side, in processes of their own that leave what they made in the compiler's cache. On the CPU: plain eager
float32; there also one forward and backward pass against the plainest hand-written network.
"""

import gc
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.cache import fill_cache
from benchmarks.plain import PlainZeroSNet
from benchmarks.steps import Step, captured, peak_bytes, race, saved_bytes, test_step, training_step
from zerosnet.models import create_model

NAMES = ("preresnet{}", "zerosnet{}_opt")
DEPTHS = (20, 56)
MODES = ("training", "test")
BATCHES = {"cpu": (128,), "cuda": (128, 512, 4096)}
ROUNDS = {"cpu": 7, "cuda": 15}

# ZeroSNet20 / PreResNet20 in the paper's table of run times, by mode and batch size
PAPER_RATIOS = {
    "training": {128: 1662 / 1532, 512: 829 / 829, 4096: 928 / 913},
    "test": {128: 151 / 142, 512: 143 / 140, 4096: 220 / 212},
}
TARGETS = {
    "time, cuda, batch >= 512": 1.10,
    "time, cpu": 1.25,
    "memory, training": 1.10,
    "32 layers against plain": 1.0,
}


def suffix() -> str:
    return f"-{_device()}"


def run(
    device: str | None = None,
    *,
    depths: Sequence[int] = DEPTHS,
    batches: Sequence[int] | None = None,
    rounds: int | None = None,
    size: int = 32,
) -> dict[str, Any]:
    """Measure on `device` (the GPU if there is one) and return one row per depth, mode and batch size."""
    device = device or _device()
    batches, rounds = _sorted(batches or BATCHES[device]), rounds or ROUNDS[device]
    if device == "cuda":
        compile_ahead(depths=depths, batches=batches, size=size)
    rows = list[dict[str, Any]]()
    for depth in depths:
        for mode in MODES:
            models = [_network(name.format(depth), mode, device) for name in NAMES]
            for batch in batches:
                rows.append({"depth": depth, "mode": mode, "batch": batch})
                rows[-1] |= _compare(models, mode, batch, size, rounds, device)
                rows[-1]["paper_ratio"] = _paper_ratio(depth, mode, batch)
                print("   " + _line(rows[-1]), flush=True)
            del models
            _clean(device)
    result: dict[str, Any] = {"device": device, "rounds": rounds, "image_size": size, "targets": TARGETS, "rows": rows}
    if device == "cpu":
        result["plain"] = against_plain(batch=max(batches), rounds=rounds, size=size)
        print(
            "   {depth} layers, forward and backward: plain {plain_ms:.0f} ms, ours {ours_ms:.0f} ms, "
            "ratio {ratio:.3f}, of the best turns {ratio_of_best:.3f}".format(**result["plain"]),
            flush=True,
        )
    return result


def compile_ahead(
    only: str = "", *, depths: Sequence[int] = DEPTHS, batches: Sequence[int] = BATCHES["cuda"], size: int = 32
) -> None:
    """Fill the compiler's cache for the GPU: one network for all batch sizes in training, one for each in test."""
    batches, names = _sorted(batches), [name.format(depth) for depth in depths for name in NAMES]
    jobs = [(name, "training", batches[0], size) for name in names]
    fill_cache(_compile, jobs + [(name, "test", batch, size) for name in names for batch in batches])


def against_plain(*, batch: int, rounds: int, size: int, depth: int = 32) -> dict[str, Any]:
    """One forward and backward pass on the CPU, ours against the plainest hand-written network."""
    images, labels = _batch(batch, "training", size, "cpu")
    plain, ours = (
        _pass(model, images, labels) for model in (PlainZeroSNet(depth), create_model(f"zerosnet{depth}_opt"))
    )
    found = race(plain, ours, rounds=rounds, device="cpu")
    times = {"plain_ms": found.baseline_ms, "ours_ms": found.candidate_ms}
    return {"depth": depth, "batch": batch, **times, "ratio": found.ratio, "ratio_of_best": found.ratio_of_best}


def _compare(
    models: Sequence[nn.Module], mode: str, batch: int, size: int, rounds: int, device: str
) -> dict[str, float]:
    images, labels = _batch(batch, mode, size, device)
    steps = [_step(model, mode, images, labels) for model in models]
    for step in steps * 2:  # compiles, picks algorithms, makes the optimiser's state
        step()
    on_cpu_training = device == "cpu" and mode == "training"
    memory = [
        saved_bytes(model, images) if on_cpu_training else peak_bytes(model, step, device)
        for model, step in zip(models, steps)
    ]
    if device == "cuda":
        steps = [captured(step) for step in steps]
    found = race(*steps, rounds=rounds, device=device)
    del steps
    _clean(device, compiled=False)
    return {
        "preresnet_ms": found.baseline_ms,
        "zerosnet_ms": found.candidate_ms,
        "ratio": found.ratio,
        "ratio_of_best": found.ratio_of_best,
        "preresnet_mib": memory[0] / 2**20,
        "zerosnet_mib": memory[1] / 2**20,
        "memory_ratio": memory[1] / memory[0],
    }


def _compile(name: str, mode: str, batch: int, size: int) -> None:
    _step(_network(name, mode, "cuda"), mode, *_batch(batch, mode, size, "cuda"))()


def _step(model: nn.Module, mode: str, images: Tensor, labels: Tensor) -> Step:
    return training_step(model, images, labels) if mode == "training" else test_step(model, images)


def _network(name: str, mode: str, device: str) -> nn.Module:
    model = create_model(name, seed=0)
    if device == "cpu":
        return model
    model.conv_dtype = torch.bfloat16
    model = model.to(device).to(memory_format=torch.channels_last)
    model.compile(dynamic=None if mode == "training" else False)
    return model


def _batch(batch: int, mode: str, size: int, device: str) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, 3, size, size, generator=generator).to(device, memory_format=torch.channels_last)
    labels = torch.randint(10, (batch,), generator=generator).to(device)
    if device == "cpu":
        images = images.contiguous()
    elif mode == "training":
        torch._dynamo.maybe_mark_dynamic(images, 0)
    return images, labels


def _pass(model: nn.Module, images: Tensor, labels: Tensor) -> Step:
    """Forward, loss, backward."""

    def step() -> None:
        model.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels).backward()

    return step


def _sorted(batches: Sequence[int]) -> list[int]:
    """Dynamic kernels are tuned for the first size."""
    return sorted(batches, key=lambda batch: abs(batch - 512))


def _paper_ratio(depth: int, mode: str, batch: int) -> float | None:
    return PAPER_RATIOS[mode].get(batch) if depth == 20 else None


def _line(row: dict[str, Any]) -> str:
    paper = f" (paper {row['paper_ratio']:.3f})" if row["paper_ratio"] else ""
    return (
        f"{row['depth']} layers, {row['mode']:8}, batch {row['batch']:4}: PreResNet {row['preresnet_ms']:8.2f} ms, "
        f"ZeroSNet {row['zerosnet_ms']:8.2f} ms, ratio {row['ratio']:.3f}, best {row['ratio_of_best']:.3f}{paper}; "
        f"memory {row['preresnet_mib']:.0f} and {row['zerosnet_mib']:.0f} MiB, ratio {row['memory_ratio']:.3f}"
    )


def _clean(device: str, compiled: bool = True) -> None:
    """Give back what graphs and networks held; forget compiled code, of which dynamo keeps a few versions only."""
    gc.collect()
    if device == "cuda":
        if compiled:
            torch._dynamo.reset()
        torch.cuda.empty_cache()


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"

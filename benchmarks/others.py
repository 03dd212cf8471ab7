"""Networks without kernels of our own: 164 and 326 layers (bottlenecks) and MNIST, beside ZeroSNet-56 of CIFAR's size.

Every case goes through the engine's own loop, on synthetic images. An epoch is short, and its seconds are scaled to all
images of the data set. The plain engine's compiler takes minutes for deep networks; `--compile` fills its cache before.
"""

import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from benchmarks.cache import fill_cache
from benchmarks.record import Result, by_device
from benchmarks.training import TIME_LIMIT, Case, measure, specs_of, synthetic
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.machine import torch_settings

IMAGES = {"cifar10": 50_000, "mnist": 60_000}
SIZES = {"cifar10": 32, "mnist": 28}
SHORT = 12_800  # images of an epoch that is timed
suffix = by_device

CASES = (
    Case("native", 56, 10, 3, 15, None),
    Case("torch", 56, 10, 3, 30, None, dataset="mnist"),
    Case("torch", 164, 10, 3, 60, None),
    Case("torch", 326, 3, 3, 60, None),
)


def run(only: str = "", before: Result | None = None) -> Result | Iterator[Result]:
    """Time those cases whose names contain `only`, without those that a run before this one has done."""
    if not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    return on(torch.device("cuda"), [case for case in CASES if only in case.name], before)


def compile_ahead(only: str = "", cases: Sequence[Case] = CASES) -> None:
    """Fill the compiler's cache, if there is a GPU; what else runs on the machine meanwhile should not be timed."""
    if torch.cuda.is_available():
        fill_cache(_compile, [(case,) for case in cases if only in case.name and case.kernels == "torch"])


def _compile(case: Case) -> None:
    device = torch.device("cuda")
    with torch_settings(device, deterministic=False):
        data = synthetic(SHORT, SIZES[case.dataset], case.dataset)
        FusedTrainer(specs_of(case), data, device, kernels=case.kernels)


def on(
    device: torch.device,
    cases: Sequence[Case] = CASES,
    before: Result | None = None,
    *,
    images: int = SHORT,
    sizes: dict[str, int] = SIZES,
) -> Iterator[Result]:
    """The table as it grows; `images` and `sizes` make a small version for a test without a GPU."""
    began, left_out = time.monotonic(), dict[str, str]()
    rows: dict[str, Result] = {row["case"]: row for row in (before or {}).get("rows", [])}
    for case in [case for case in cases if case.name not in rows]:
        if time.monotonic() - began + case.seconds_needed > TIME_LIMIT:
            left_out[case.name] = "no time left"
            continue
        try:
            row = measure(case, device, synthetic(images, sizes[case.dataset], case.dataset))
        except Exception as error:  # the other cases are worth having
            traceback.print_exc()
            left_out[case.name] = f"{type(error).__name__}: {error}"
            continue
        rows[case.name] = row = whole_epoch(case, row, images)
        memory = f", {row['peak_memory_gib']:.1f} GiB" if row["peak_memory_gib"] else ""
        print(
            f"   {case.name:34} {row['seconds_per_epoch_and_network']:.3f} s per epoch and network, "
            f"step {row['step_ms']:.2f} ms, prepared in {row['prepare_seconds']:.0f} s{memory}",
            flush=True,
        )
        yield _table(cases, rows, left_out)
    yield _table(cases, rows, left_out)


def whole_epoch(case: Case, row: Result, images: int) -> Result:
    """Scale the seconds of a short epoch to all images of the data set."""
    factor = IMAGES[case.dataset] / images
    scaled = {name: factor * row[name] for name in ("seconds_per_epoch", "seconds_per_epoch_and_network")}
    kind = {"dataset": case.dataset, "eager": case.compiled is False, "timed_images": images}
    return {**row, **scaled, **kind}


def _table(cases: Sequence[Case], rows: dict[str, Result], left_out: dict[str, str]) -> dict[str, Any]:
    left = {"left_out": left_out} if left_out else {}
    return {"rows": [rows[case.name] for case in cases if case.name in rows], **left}

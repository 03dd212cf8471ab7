"""Networks of several streams: our kernels beside plain PyTorch, and beside ZeroSNet-56 in the same run.

Every case is timed as those of `others`: through the engine's own loop, on a short epoch that is scaled.
"""

from collections.abc import Iterator

import torch

from benchmarks import others
from benchmarks.record import Result, by_device
from benchmarks.training import Case

suffix = by_device

KINDS = ("streams{}", "streams{}_sinkhorn", "preresnet{}_x0")
CASES = (
    Case("native", 56, 10, 3, 15, None),
    *(Case("native", 56, 10, 3, 30, None, model=kind) for kind in KINDS),
    Case("native", 56, 1, 3, 20, None, model="streams{}"),
    *(Case("torch", 56, 10, 3, 90, None, model=kind) for kind in KINDS),
)


def run(only: str = "", before: Result | None = None) -> Result | Iterator[Result]:
    """Time those cases whose names contain `only`, without those that a run before this one has done."""
    if not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    return others.on(torch.device("cuda"), [case for case in CASES if only in case.name], before)


def compile_ahead(only: str = "") -> None:
    """Fill the compiler's cache, if there is a GPU."""
    others.compile_ahead(only, CASES)

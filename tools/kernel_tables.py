"""Tables and numbers about our own kernels: times by kernel and by version, and accuracies by engine."""

import math
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.memory_floor import step_bytes

from tools.markdown_tables import benchmark, table
from zerosnet.models import create_model

Record = dict[str, Any]

KERNELS = ("conv_inner", "conv_step_3", "backward_inner", "backward_outer", "state_gradient_3")
WIDTHS = (16, 32, 64)
BATCH = 128


def kernels() -> str:
    """List the time of each kernel at each width, and its part of the bandwidth of a copy."""
    found = {(row["kernel"], row["channels"]): row for row in benchmark("kernels")["rows"]}
    heads = ("Kernel", *(f"{width} channels, us" for width in WIDTHS), "of the bandwidth of a copy")
    rows = []
    for kernel in KERNELS:
        measured = [found[kernel, width] for width in WIDTHS]
        times = [f"{row['us']:.0f}" for row in measured]
        rows.append((f"`{kernel}`", *times, ", ".join(f"{row['fraction']:.2f}" for row in measured)))
    return table(heads, rows)


def _part_of_bandwidth(replicas: int) -> float:
    """Compare the bytes of a step of 56 layers, at the bandwidth of a copy, with its time in the newest version."""
    steps = benchmark("kernel-versions")["versions"][-1]["steps"]
    step = next(one for one in steps if (one["model"], one["replicas"]) == ("zerosnet56_opt", replicas))
    moved = step_bytes(create_model(step["model"], replicas=replicas, seed=0), batch=BATCH)
    return float(1e3 * moved / benchmark("kernels")["bandwidth"] / step["ms"])


def kernel_versions() -> str:
    """List the time of a whole step, and of an evaluation, by version, all measured in one run."""
    old, new = benchmark("kernel-versions")["versions"]
    times = {
        f"a step, {a['model']}, {a['replicas']} fused": (a["ms"], b["ms"]) for a, b in zip(old["steps"], new["steps"])
    }
    for batch, before in old["evaluation_ms"].items():
        times[f"evaluation, zerosnet56_opt, 10 fused, batches of {batch}"] = before, new["evaluation_ms"][batch]
    rows = [(work, f"{a:.3g}", f"{b:.3g}", f"{100 * (b / a - 1):+.1f} %") for work, (a, b) in times.items()]
    return table(("Work", f"version {old['version']}, ms", f"version {new['version']}, ms", "Change"), rows)


def _shorter_since_8() -> float:
    """Compute by how much a step of ten became shorter: versions 8 and 9 were timed in one run, 9 and 10 in another."""
    history = {one["version"]: one for one in benchmark("kernels-history")["versions"]}
    runs = ((history["8 again, beside version 9"], history["9"]), benchmark("kernel-versions")["versions"])
    ratios = [new["steps"][0]["ms"] / old["steps"][0]["ms"] for old, new in runs]  # the first step is that of ten
    return 1 - math.prod(ratios)


def _prefetching_us() -> float:
    """Compute what prefetching cost a call of `conv_step_3` at 16 channels, in version 5."""
    history = benchmark("kernels-history")["versions"]
    variants = next(one for one in history if one["version"] == 5)["variants"]
    found = {one["variant"]: one["us"]["conv_step_3"] for one in variants if one["channels"] == 16}
    return float(found["base"] - found["no prefetch"])


# -- accuracy of the engines -------------------------------------------------------------------------------------------

ENGINES = {
    "native": "our kernels, version 8",
    "native, version 7": "our kernels, version 7",
    "native, version 4": "our kernels, version 4",
    "alone": "our kernels, version 7, seed 1 by itself",
    "torch": "plain PyTorch, bf16 convolutions on a float32 state",
    "fp32": "plain PyTorch, strict float32",
}


def engines() -> str:
    """List accuracies of one network trained by each engine."""
    heads = ("Engine", "Best epoch, seeds 1 to 3, %", "Mean", "Last epoch, seeds 1 to 3, %", "Mean")
    rows = []
    for key, name in ENGINES.items():
        cells = [name]
        for which in ("best", "last"):
            values = [100 * run[f"{which}_test_accuracy"] for run in benchmark("engines-cuda")[key]["runs"]]
            cells.append(", ".join(f"{value:.2f}" for value in values))
            deviation = f"±{statistics.stdev(values):.2f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.2f}{deviation}")
        rows.append(cells)
    return table(heads, rows)


TABLES: dict[str, Callable[[], str]] = {
    "kernel times": kernels,
    "kernel versions": kernel_versions,
    "engines": engines,
}
VALUES: dict[str, Callable[[], str]] = {
    "step's part of bandwidth, ten": lambda: f"{_part_of_bandwidth(10):.2f}",
    "step's part of bandwidth, thirty": lambda: f"{_part_of_bandwidth(30):.2f}",
    "steps since version 8, %": lambda: f"{100 * _shorter_since_8():.0f}",
    "prefetching, us": lambda: f"{_prefetching_us():.0f}",
}

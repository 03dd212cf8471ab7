"""What each part of the plain engine gives: the step of ten fused ZeroSNet-56, with one part left out at a time."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from unittest import mock

import torch

from benchmarks.record import Result
from benchmarks.training import CASES as TABLE
from benchmarks.training import Case, clean, milliseconds, specs_of, synthetic
from zerosnet.data import DataSet
from zerosnet.training.fused import optimizer
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.machine import torch_settings

PLAIN = next(case for case in TABLE if (case.kernels, case.layers, case.replicas) == ("torch", 56, 10))
COUNT = 20


@dataclass(frozen=True)
class Part:
    """The engine without something: CUDA graph, compiler, one kernel for the whole update, fused networks."""

    name: str
    recorded: bool = True
    compiled: bool = True
    flat_update: bool = True
    replicas: int | None = None


PARTS = (
    Part("as it is"),
    Part("called, not recorded as a graph", recorded=False),
    Part("not compiled", compiled=False),
    Part("neither", recorded=False, compiled=False),
    Part("updated parameter by parameter", flat_update=False),
    Part("one network at a time", replicas=1),
)


def suffix() -> str:
    return "-cuda"


def run() -> Result | Iterator[Result]:
    if not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    return on(torch.device("cuda"))


def on(device: torch.device, case: Case = PLAIN, *, images: int = 50_000, size: int = 32) -> Iterator[Result]:
    """Yield the table as it grows."""
    data, rows = synthetic(images, size), list[Result]()
    for part in PARTS:
        rows.append(row := asdict(part) | measure(part, case, data, device))
        line = f"{part.name:32} {row['step_ms']:8.2f} ms a step, {row['ms_per_network']:7.3f} a network"
        print(f"   {line}, {row['ms_per_network'] / rows[0]['ms_per_network']:5.2f} times", flush=True)
        yield {"case": case.name, "rows": rows}


def measure(part: Part, case: Case, data: DataSet, device: torch.device) -> Result:
    specs, compiled = specs_of(case)[: part.replicas], part.compiled and device.type == "cuda"
    clean(device)
    as_wished = partial(optimizer.Optimizer, flat_update=part.flat_update)
    with torch_settings(device, deterministic=False), mock.patch.object(optimizer, "Optimizer", as_wished):
        training = FusedTrainer(specs, data, device, kernels="torch", compiled=compiled)
        step = training.step if part.recorded else training._step
        ms = milliseconds(step, min(COUNT, training.steps // 2), device)
    return {"step_ms": ms, "ms_per_network": ms / len(specs)}

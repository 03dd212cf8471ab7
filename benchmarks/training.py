"""What a trained network costs: ZeroSNet-56 alone and fused through the whole engine, beside the authors' way.

On a GPU: seconds per epoch and network with everything included (data, augmentation, update, metrics, evaluation,
journal), from the engine's own loop on synthetic images of CIFAR's shape; the time inside the recorded steps; what a
checkpoint costs; and the authors' way of training (eager, channels first, one synchronisation a step) in the same run.
On a CPU: ten 20-layer networks on digits.
"""

import statistics
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.cache import fill_cache
from benchmarks.plain import authors_way
from benchmarks.record import Result, by_device
from benchmarks.steps import busiest_kernels
from zerosnet.data import DataSet, ImageSet, source
from zerosnet.numerics import Scheme
from zerosnet.training import Clock, RunSpec, SaveInterval, Store, recipe, snapshot
from zerosnet.training.engine import train
from zerosnet.training.fused.cuda_graph import forget_compiled
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.loop import train_group
from zerosnet.training.machine import torch_settings
from zerosnet.training.options import Options
from zerosnet.training.screen.displays import Lines

SCHEMES = ("-9/5", "10", "1/2")  # lambda of the replicas in turn: as in a table, they do not all have the same one
TIME_LIMIT = 540  # seconds for the whole of it on a GPU; what no longer fits is left out, and done by the next run
COMPILATION = 120  # about how many seconds that takes, for all cases side by side
suffix = by_device


@dataclass(frozen=True)
class Case:
    """A case: networks, and epochs, of which the first is not counted."""

    kernels: str
    layers: int
    replicas: int
    epochs: int
    seconds_needed: float
    """The seconds that the case takes about, if it was compiled before."""
    target: float | None
    """The most seconds per epoch and network that are accepted; None for no target."""
    times_faster: float | None = None
    """How many times faster it must be than the authors' way (56 layers)."""
    dataset: str = "cifar10"
    compiled: bool | None = None
    """True if plain PyTorch is compiled; None is yes on a GPU."""
    model: str = "zerosnet{}"
    """The name of the network, with {} in place of its layers; one that is not a ZeroSNet has no scheme."""

    @property
    def name(self) -> str:
        kind = "" if self.dataset == "cifar10" else f", {self.dataset}"
        kind += "" if self.model == "zerosnet{}" else f", {self.model.format('')}"
        return f"{self.layers} layers, K={self.replicas}, {self.kernels}{kind}{', eager' * (self.compiled is False)}"


CASES = (
    Case("native", 56, 10, 4, 40, 0.28, 28),
    Case("native", 56, 1, 4, 15, 0.72),
    Case("native", 20, 10, 4, 15, 0.11),
    Case("native", 56, 30, 2, 45, 0.245, 28),
    Case("native", 110, 10, 2, 45, 0.54),
    Case("torch", 56, 10, 3, 60, 0.85, 12),
    Case("torch", 56, 30, 2, 100, 0.78, 12),
    Case("torch", 56, 1, 4, 35, 1.9, 5.5),
    Case("torch", 20, 10, 4, 25, None),
)


def run(only: str = "", before: Result | None = None) -> Result | Iterator[Result]:
    """On a GPU those cases whose names contain `only`, without those that a run before this one has done."""
    return on_cuda(_cases(only), before) if torch.cuda.is_available() else on_cpu()


def compile_ahead(only: str = "") -> None:
    """Fill the compiler's cache, if there is a GPU; what else runs on the machine meanwhile should not be timed."""
    if torch.cuda.is_available():
        fill_cache(_compile, [(case,) for case in _cases(only) if case.kernels == "torch"])


def on_cuda(
    cases: Sequence[Case] = CASES,
    before: Result | None = None,
    *,
    device: str = "cuda",
    images: int = 50_000,
    size: int = 32,
) -> Iterator[Result]:
    """The table of the GPU as it grows; `device`, `images` and `size` make a small version for a test without one.

    Our own kernels come first: they need none of the long compilation.
    """
    before, began = before or {}, time.monotonic()
    rows: dict[str, Result] = {row["case"]: row for row in before.get("rows", [])}
    waiting = [case for case in cases if case.name not in rows]
    to_compile = [(case,) for case in waiting if case.kernels == "torch" and device == "cuda"]
    data = synthetic(images, size)
    authors = before.get("authors") or authors_way(device, data)
    print(f"   the authors' way: {authors['ms_per_step']:.2f} ms a step", flush=True)

    left_out: dict[str, str] = {}

    def so_far() -> Result:
        done = [rows[case.name] for case in cases if case.name in rows]
        seconds = before.get("seconds", 0.0) + time.monotonic() - began
        left = {"left_out": left_out} if left_out else {}
        return {"authors": authors, "rows": done, "peak_memory": peak_memory(done), "seconds": seconds, **left}

    for case in waiting:
        compiles = case.kernels == "torch" and bool(to_compile)
        if time.monotonic() - began + case.seconds_needed + compiles * COMPILATION > TIME_LIMIT:
            left_out[case.name] = "no time left"
            continue
        if compiles:
            try:
                fill_cache(_compile, to_compile)
            except Exception:  # each case then compiles for itself
                traceback.print_exc()
            to_compile = []
            print(f"   compiled; {time.monotonic() - began:.0f} s so far", flush=True)
        try:
            rows[case.name] = row = measure(case, torch.device(device), data)
        except Exception as error:  # the other cases are worth having
            traceback.print_exc()
            left_out[case.name] = f"{type(error).__name__}: {error}"
            continue
        if case.layers == 56:
            row["times_faster"] = authors["seconds_per_epoch"] / row["seconds_per_epoch_and_network"]
            row["than_ms_per_step"] = authors["ms_per_step"]
        print("   " + _line(case, row), flush=True)
        yield so_far()
    lines = [_line(case, rows[case.name]) for case in cases if case.name in rows]
    lines += [_memory_line(pair) for pair in so_far()["peak_memory"]]
    lines += [f"{name:26} left out: {why}" for name, why in left_out.items()]
    print("   summary", *lines, sep="\n   ", flush=True)
    yield so_far()


def peak_memory(rows: Sequence[Result]) -> list[Result]:
    """Put the peak memory of both engines side by side, in GiB."""
    found: dict[tuple[int, int], Result] = {}
    for row in rows:
        found.setdefault((row["layers"], row["replicas"]), {})[f"{row['kernels']}_gib"] = row["peak_memory_gib"]
    return [{"layers": layers, "replicas": k, **gib} for (layers, k), gib in found.items() if len(gib) == 2]


def _cases(only: str) -> list[Case]:
    return [case for case in CASES if only in case.name]


def _compile(case: Case) -> None:
    """Compile before timing, so that `prepare_seconds` is what a second training of its kind waits."""
    device = torch.device("cuda")
    with torch_settings(device, deterministic=False):
        FusedTrainer(specs_of(case), synthetic(50_000, 32), device, kernels=case.kernels)


def measure(case: Case, device: torch.device, data: DataSet) -> Result:
    """One case through the engine's own loop, and its parts."""
    specs = specs_of(case)
    clean(device)
    options = Options(str(device), checkpoint_every=SaveInterval(seconds=1e9))
    with tempfile.TemporaryDirectory() as folder, torch_settings(device, deterministic=False):
        left = torch.cuda.memory_allocated() / 2**30 if device.type == "cuda" else None
        began = time.monotonic()
        training = FusedTrainer(specs, data, device, kernels=case.kernels, compiled=case.compiled)
        _wait(device)
        row: Result = {
            "case": case.name,
            "layers": case.layers,
            "replicas": case.replicas,
            "kernels": training.backend.kernels,
            "arithmetic": training.backend.arithmetic,
            "prepare_seconds": time.monotonic() - began,
        }
        count = min(10 + 3_000 // case.replicas, training.steps // 2)
        row["step_ms"] = milliseconds(training.step, count, device)
        training.feed.counter.zero_()
        test = training.tests["test"]
        row["evaluation_ms"] = milliseconds(test.run, 2, device)
        row["profile"] = busiest_kernels(training.step) if device.type == "cuda" else []
        training.feed.counter.zero_()
        runs = [run for spec in specs if (run := Store(folder).claim(spec)) is not None]
        row |= checkpoint_cost(training, runs, device)
        train_group(training, runs, 0, options, Clock(), Lines(quiet=True))
        longest = max((run.metrics() for run in runs), key=len)  # a run that diverges has no more rows
        epochs = [case.replicas * row["seconds"] for row in longest[1:]]
        for held in runs:
            held.release()
    epoch = statistics.median(epochs)
    inside = (training.steps * row["step_ms"] + row["evaluation_ms"]) / 1e3
    row |= {
        "seconds_per_epoch": epoch,
        "seconds_per_epoch_and_network": epoch / case.replicas,
        "outside_recorded_steps": 1 - inside / epoch,  # below 0: something is measured wrongly
        "outside_training_steps": 1 - training.steps * row["step_ms"] / 1e3 / epoch,
        "evaluation_share": row["evaluation_ms"] / 1e3 / epoch,
        "target": case.target,
        "memory_before_gib": left,  # what the cases before this one have left; it counts in the peak
        "peak_memory_gib": torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else None,
    }
    return row


def checkpoint_cost(training: FusedTrainer, runs: Sequence[Any], device: torch.device) -> dict[str, float]:
    """Seconds that training waits for a checkpoint, and seconds that writing it takes in the background."""
    _wait(device)
    began = time.monotonic()
    parts = snapshot(training.tensors(), training.replicas)
    waiting = time.monotonic() - began
    for held, part in zip(runs, parts):
        held.save_checkpoint(1, part, {})
    writing = time.monotonic() - began - waiting
    return {
        "checkpoint_waiting_seconds": waiting,
        "checkpoint_writing_seconds": writing,
        "checkpoint_share_at_one_a_minute": waiting / 60,
    }


def on_cpu(networks: int = 10) -> Result:
    """Ten 20-layer networks on digits with recipe quick: seconds, and the accuracies they reach."""
    chosen = recipe("quick", "digits")
    specs = [RunSpec("zerosnet20_opt", "digits", chosen, seed) for seed in range(networks)]
    with tempfile.TemporaryDirectory() as folder:
        store, began = Store(folder), time.monotonic()
        train(specs, store, Options("cpu"))
        seconds = time.monotonic() - began
        reached = [record.result.test_accuracy for record in store.records() if record.result]
    accuracies = [accuracy for accuracy in reached if accuracy is not None]
    if len(accuracies) < networks:
        raise SystemExit(f"{networks - len(accuracies)} of {networks} networks diverged or were not trained")
    print(f"   {networks} networks: {seconds:.1f} s, test accuracy {min(accuracies):.2%} to {max(accuracies):.2%}")
    return {"networks": networks, "seconds": seconds, "target_seconds": 150, "test_accuracies": accuracies}


def synthetic(images: int, size: int, dataset: str = "cifar10") -> DataSet:
    """Random images, by default of CIFAR's shape and number."""
    known = source(dataset)
    generator = torch.Generator().manual_seed(0)

    def part(n: int) -> ImageSet:
        pixels = torch.randint(256, (n, len(known.mean), size, size), dtype=torch.uint8, generator=generator)
        return ImageSet(pixels, torch.randint(10, (n,), generator=generator))

    return DataSet(dataset, part(images), part(images // 5), 10, known.mean, known.std)


def specs_of(case: Case) -> list[RunSpec]:
    """The runs of a case: the paper's recipe for its data, each with its own seed, the schemes in turn."""
    chosen = recipe("mnist-fgsm" if case.dataset == "mnist" else "paper", case.dataset, epochs=case.epochs)
    name = case.model.format(case.layers)
    schemes = [Scheme.parse(f"zerosnet({s})") if case.model == "zerosnet{}" else None for s in SCHEMES]
    return [RunSpec(name, case.dataset, chosen, seed, schemes[seed % len(schemes)]) for seed in range(case.replicas)]


def milliseconds(function: Callable[[], Any], count: int, device: torch.device) -> float:
    """A call, after as many others: a chip that was idle takes a while to reach its speed."""
    for _ in range(count):
        function()
    _wait(device)
    began = time.monotonic()
    for _ in range(count):
        function()
    _wait(device)
    return 1e3 * (time.monotonic() - began) / count


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def clean(device: torch.device) -> None:
    """Free memory, so that one case counts as little as possible in the peak of the next."""
    forget_compiled(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()


def _memory_line(pair: Result) -> str:
    engines = f"native {pair['native_gib']:.2f} GiB, torch {pair['torch_gib']:.2f} GiB"
    return f"peak memory, {pair['layers']} layers, K={pair['replicas']}: {engines}"


def _line(case: Case, row: Result) -> str:
    memory = f", {row['peak_memory_gib']:.1f} GiB" if row["peak_memory_gib"] else ""
    must = f" (must {case.target})" if case.target else ""
    times = f"{row['times_faster']:.1f} times faster (must {case.times_faster}), " if "times_faster" in row else ""
    return (
        f"{case.name:26} {row['seconds_per_epoch_and_network']:.3f} s per epoch and network{must}, "
        f"step {row['step_ms']:.2f} ms, evaluation {row['evaluation_share']:.1%}, "
        f"outside {row['outside_recorded_steps']:.1%}, both {row['outside_training_steps']:.2%}, {times}"
        f"checkpoint {row['checkpoint_waiting_seconds']:.3f} + {row['checkpoint_writing_seconds']:.3f} s, "
        f"prepared in {row['prepare_seconds']:.0f} s{memory}"
    )

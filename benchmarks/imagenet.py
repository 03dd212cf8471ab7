"""Images per second of training networks of 50 layers (or `--only 18`, 34): with data on the GPU (compute), of the
loader alone, and end to end.

Compute: one training step (forward, loss, backward, SGD) of each network, in turns, in one process; bf16, channels
last, compiled, the paper's batch. timm's resnet under autocast, ours with bf16 convolutions and a bf16 state, as
`zerosnet train --recipe imagenet` has them; ZeroSNet also with its history restarted at every stage change, which costs
no projections of older states. End to end: the real training from JPEG files that workers decode; PreResNet-50, and the
loader alone, also with the GPU as decoder.

Files are those of the folder that ZEROSNET_IMAGES names (train/<class>/*.JPEG and val/...), and files made here that
have the size of ImageNet's, 500 x 375 pixels and about 100 kB. All of them fit into memory and are read from there: a
slow disk is not part of these rates.

What is measured is stored at once. What fails, or what there is no time for, is named and left out.
"""

import gc
import os
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.cache import fill_cache
from benchmarks.jpeg import difference, fail, loader_rate, watch
from benchmarks.pictures import folders
from benchmarks.record import Result, by_device
from benchmarks.steps import Step, milliseconds, training_step
from zerosnet.data import FolderData, open_folder
from zerosnet.models import create_model
from zerosnet.training import RunSpec, recipe
from zerosnet.training.machine import World, torch_settings
from zerosnet.training.options import StreamOptions
from zerosnet.training.streamed.trainer import StreamedTrainer

TIMM, PRE, ZERO, RESTARTED = "timm resnet{}", "preresnet{}", "zerosnet{}_opt", "zerosnet{}_opt, history restarted"
TARGETS = {"preresnet / timm": 0.95, "zerosnet / preresnet": 0.80, "end to end / compute": 0.6}
CLASSES = 1000
LOADER, BY_GPU, BY_WORKERS = "loader", ", decoded by the GPU", ", decoded by workers"
AT_ONCE = 4  # compilations side by side; each holds a network and a batch on the GPU
TIME_LIMIT = 400  # seconds after which nothing new is begun
suffix = by_device


@dataclass(frozen=True)
class Settings:
    """What is measured, and for how long: `seconds` the loader and the real training are watched."""

    device: str = "cuda"
    depth: int = 50
    batch: int = 256
    side: int = 224
    rounds: int = 9
    seconds: float = 5.0
    files: int = 2048
    workers: int = field(default_factory=lambda: max(1, len(os.sched_getaffinity(0)) - 1))

    @property
    def names(self) -> list[str]:
        """The networks; in one of 18 layers no stage has room for three steps."""
        kinds = (TIMM, PRE, ZERO, RESTARTED) if self.depth > 18 else (TIMM, PRE, ZERO)
        return [name.format(self.depth) for name in kinds]


FOLDERS = ("ZEROSNET_IMAGES",)
BATCHES = {18: 1024, 34: 512, 50: 256}  # the paper's


def settings_of(only: str = "", **changes: Any) -> Settings:
    """Choose the settings of networks with `only` layers."""
    if only and only not in map(str, BATCHES):
        raise SystemExit(f"--only {only}: expected a number of layers, {', '.join(map(str, BATCHES))}")
    depth = int(only or 50)
    return Settings(**{"depth": depth, "batch": BATCHES[depth], **changes})


def run(only: str = "", **changes: Any) -> Result | Iterator[Result]:
    """Yield the result so far, whenever it has grown."""
    settings = settings_of(only, **changes)
    if settings.device == "cuda" and not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    return _measure(settings)


def compile_ahead(only: str = "") -> None:
    """Fill the compiler's cache; what else runs on the machine meanwhile should not be timed."""
    settings = settings_of(only)
    fill_cache(_compile, [(name, settings.batch, settings.side) for name in settings.names], AT_ONCE)


def _measure(settings: Settings) -> Iterator[Result]:
    began = time.monotonic()
    result: Result = {"targets": TARGETS} | {
        k: getattr(settings, k) for k in ("device", "depth", "batch", "side", "workers")
    }
    left_out: dict[str, str] = {}

    def so_far() -> Result:
        return result | {"seconds": time.monotonic() - began} | ({"left_out": left_out} if left_out else {})

    def attempt(what: str, work: Callable[[], Any]) -> Any:
        """Return what `work` gives; None if it fails or there is no time for it."""
        if time.monotonic() - began > TIME_LIMIT:
            left_out[what] = "no time left"
            return None
        try:
            return work()
        except Exception as error:  # the other cases are worth having
            traceback.print_exc()
            left_out[what] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            _say(f"{what} left out: {left_out[what]}")
            return None
        finally:
            _clean(settings.device)

    with torch_settings(torch.device(settings.device), deterministic=False):
        if settings.device == "cuda":
            attempt("compilation ahead", partial(compile_ahead, str(settings.depth)))
            left_out.clear()  # what was not compiled ahead is compiled when it is needed
            _say(f"compiled after {time.monotonic() - began:.0f} s")
        result |= attempt("compute", partial(_compute, settings, left_out)) or {}
        compute: dict[str, float] = result.get("compute", {})
        yield so_far()
        with tempfile.TemporaryDirectory() as made:
            result["sources"] = []
            for source, folder in folders(Path(made), settings.files):
                data = _with_all_classes(open_folder(f"imagefolder@{settings.side}", folder))
                result["sources"].append(row := {"source": source})
                for name, work in _of_files(settings, data):
                    if (found := attempt(f"{name}, {source}", work)) is not None:
                        _say(f"{source}: {_entered(row, name, found, compute)}")
                        yield so_far()
    yield so_far()


def _of_files(settings: Settings, data: FolderData) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what is measured with a folder of files: name and work."""
    where = settings.batch, settings.device, settings.workers, settings.seconds
    if settings.depth == 50:
        yield LOADER + BY_WORKERS, partial(loader_rate, data, *where, False)
    for name in settings.names[1:3]:
        yield name, partial(_end_to_end, name, data, *where, "workers")
    if settings.depth == 50:
        yield LOADER + BY_GPU, partial(loader_rate, data, *where, True)
        yield settings.names[1] + BY_GPU, partial(_end_to_end, settings.names[1], data, *where, "gpu")
        yield "difference", partial(difference, data, settings.batch, settings.device)


def _entered(row: Result, name: str, found: float, compute: dict[str, float]) -> str:
    """Enter a rate into the row of its files, beside what it is compared with, and return the line to print."""
    row[name] = found
    network, comma, who = name.partition(",")
    if network not in compute:
        return f"{name} {found:.2f} of 255" if name == "difference" else f"{name} {found:.0f} images/s"
    row[f"{name}, end to end / compute"] = found / compute[network]
    if (loader := row.get(LOADER + (comma + who or BY_WORKERS))) is not None:
        row[f"{name}, end to end / loader"] = found / loader
    return f"{name} end to end {found:.0f} images/s, {found / compute[network]:.2f} of compute"


# -- compute -----------------------------------------------------------------------------------------------------------


def _compute(settings: Settings, left_out: dict[str, str]) -> Result:
    """Median rates, the networks taking turns, their ratios, and the size of the networks."""
    device, batch = settings.device, settings.batch
    images, labels = _batch(batch, settings.side, device)
    steps: dict[str, Step] = {}
    for name in settings.names:
        began = time.monotonic()
        try:
            steps[name] = _step(name, images, labels, device)
            for _ in range(3):
                steps[name]()
        except Exception as error:  # the other networks are worth having
            traceback.print_exc()
            steps.pop(name, None)
            left_out[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        _say(f"{name}: ready after {time.monotonic() - began:.0f} s")
    turns: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(settings.rounds):
        for name in steps if turn % 2 == 0 else reversed(list(steps)):
            turns[name].append(milliseconds(steps[name], 1 if device == "cpu" else 8, device))
    rates = {name: 1e3 * batch / statistics.median(times) for name, times in turns.items()}
    ratios = _ratios({kind: rates.get(kind.format(settings.depth)) for kind in (TIMM, PRE, ZERO, RESTARTED)})
    for name, rate in rates.items():
        _say(f"{name}: {rate:.0f} images/s ({min(turns[name]):.2f} to {max(turns[name]):.2f} ms per step)")
    _say(", ".join(f"{name} {value:.3f}" for name, value in ratios.items()))
    sizes = {name: _size(name, settings.side) for name in rates}
    return {"networks": sizes, "compute": rates, "milliseconds": turns, "ratios": ratios}


def _ratios(rate: dict[str, float | None]) -> dict[str, float]:
    pairs = {
        "preresnet / timm": (PRE, TIMM),
        "zerosnet / preresnet": (ZERO, PRE),
        "zerosnet / zerosnet with its history restarted": (ZERO, RESTARTED),
    }
    return {
        name: first / second
        for name, (one, other) in pairs.items()
        if (first := rate[one]) is not None and (second := rate[other]) is not None
    }


def _step(name: str, images: Tensor, labels: Tensor, device: str) -> Step:
    model = _network(name, device).to(device).to(memory_format=torch.channels_last)
    if device == "cuda":
        model.compile(dynamic=False)
    return training_step(model, images, labels)


def _network(name: str, device: str) -> nn.Module:
    if name.startswith("timm "):
        import timm

        return Autocast(timm.create_model(name.removeprefix("timm "), num_classes=CLASSES), device)
    options: dict[str, Any] = {"stage_change": "restart"} if "restarted" in name else {}
    model = create_model(name.partition(",")[0], seed=0, num_classes=CLASSES, **options)
    if device == "cuda":
        model.conv_dtype = model.state_dtype = torch.bfloat16
    return model


def _size(name: str, side: int) -> dict[str, int]:
    """Parameters, and the multiplications of one image's forward pass."""
    from torch.utils.flop_counter import FlopCounterMode

    model = _network(name, "cpu").eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, 3, side, side))
    return {"parameters": sum(p.numel() for p in model.parameters()), "products": counter.get_total_flops() // 2}


class Autocast(nn.Module):
    """A network whose forward pass is in bf16 on CUDA, as torch's autocast does it."""

    def __init__(self, model: nn.Module, device: str) -> None:
        super().__init__()
        self.model, self.device = model, device

    def forward(self, images: Tensor) -> Tensor:
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            return self.model(images).float()


def _batch(batch: int, side: int, device: str) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, 3, side, side, generator=generator).to(device, memory_format=torch.channels_last)
    return images, torch.randint(CLASSES, (batch,), generator=generator).to(device)


def _compile(name: str, batch: int, side: int) -> None:
    _step(name, *_batch(batch, side, "cuda"), "cuda")()


# -- files -------------------------------------------------------------------------------------------------------------


def _with_all_classes(data: FolderData) -> FolderData:
    """The same images for a network of 1000 classes: that of ImageNet, and the one that is compiled already."""
    return replace(data, classes=(*data.classes, *(f"none {k}" for k in range(data.num_classes, CLASSES))))


def _end_to_end(
    name: str, data: FolderData, batch: int, device: str, workers: int, seconds: float, decoder: str
) -> float:
    """Images a second of the training that `zerosnet train --recipe imagenet` does."""
    made = recipe("imagenet", "imagefolder", name, batch=batch, epochs=10**5)
    place = torch.device(device, 0) if device == "cuda" else torch.device(device)
    spec = RunSpec(name, data.name, made, 1)
    training = StreamedTrainer(spec, data, place, World(), StreamOptions(decoder=decoder), workers=workers, report=fail)
    training.begin_epoch(0, 0)
    try:
        return watch(training.step, batch, seconds, device)
    finally:
        training.close()


def _clean(device: str) -> None:
    """What is compiled stays: the real training has the networks that were timed with data on the GPU."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def _say(line: str) -> None:
    print(f"   {line}", flush=True)

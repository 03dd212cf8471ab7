"""Images a second of training 50-layer networks: with data on the GPU (compute), of the loader alone, and end to end.

Compute: one training step (forward, loss, backward, SGD) of each network, in turns, in one process; bf16, channels
last, compiled, batch 256. timm's resnet50 under autocast, ours with bf16 convolutions and a bf16 state, as `zerosnet
train --recipe imagenet` has them; ZeroSNet also with its history restarted at every stage change, which costs no
projections of older states. Loader: JPEG files to batches on the device. End to end: the real training, with both.

Files are those of the folder that ZEROSNET_IMAGES names (train/<class>/*.JPEG and val/...), and files made here that
have the size of ImageNet's, 500 x 375 pixels and about 100 kB. All of them fit into memory and are read from there: a
slow disk is not part of these rates.
"""

import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.cache import fill_cache
from benchmarks.pictures import write_pictures
from benchmarks.steps import Step, milliseconds, training_step
from zerosnet.data import FolderData, open_folder
from zerosnet.data.streaming import Decoder, Stream, training_items
from zerosnet.models import create_model
from zerosnet.training import RunSpec, recipe
from zerosnet.training.large import LargeTraining, StreamOptions
from zerosnet.training.world import World

TIMM, PRE, ZERO, RESTARTED = "timm resnet{}", "preresnet{}", "zerosnet{}_opt", "zerosnet{}_opt, history restarted"
TARGETS = {"preresnet / timm": 0.95, "zerosnet / preresnet": 0.80, "end to end / compute": 0.6}
CLASSES = 1000
AT_ONCE = 4  # compilations side by side; each holds a network and a batch on the GPU


def suffix() -> str:
    return "-cuda" if torch.cuda.is_available() else "-cpu"


def run(
    device: str = "cuda",
    *,
    depth: int = 50,
    batch: int = 256,
    side: int = 224,
    rounds: int = 9,
    seconds: float = 8.0,
    files: int = 2048,
    workers: int | None = None,
) -> dict[str, Any]:
    """Measure all three; `seconds` is how long the loader and the real training are watched."""
    if device == "cuda" and not torch.cuda.is_available():
        return {"skipped": "no CUDA device"}
    workers = max(1, len(os.sched_getaffinity(0)) - 1) if workers is None else workers
    kinds = (TIMM, PRE, ZERO, RESTARTED) if depth > 18 else (TIMM, PRE, ZERO)  # 18: no stage has room for three steps
    names = [name.format(depth) for name in kinds]
    if device == "cuda":
        fill_cache(_compile, [(name, batch, side) for name in names], AT_ONCE)
    result: dict[str, Any] = {"device": device, "batch": batch, "side": side, "workers": workers, "targets": TARGETS}
    result["compute"] = compute = _compute(names, batch, side, rounds, device)
    with tempfile.TemporaryDirectory() as made:
        result["sources"] = []
        for source, folder in _folders(Path(made), files):
            data = _with_all_classes(open_folder(f"imagefolder@{side}", folder))
            row = {"source": source, "loader": _loader(data, batch, device, workers, seconds)}
            if device == "cuda":
                row["gpu decoder"] = _gpu_decoder(data)
            _say(f"{source}: loader alone {row['loader']:.0f} images/s with {workers} workers")
            for name in names[1:3]:
                row[name] = rate = _end_to_end(name, data, batch, device, workers, seconds)
                row[f"{name}, end to end / compute"] = rate / compute[name]
                row[f"{name}, end to end / loader"] = rate / row["loader"]
                _say(f"  {name} end to end {rate:.0f} images/s, {rate / compute[name]:.2f} of compute")
            result["sources"].append(row)
    timm, pre, zero, *restarted = (compute[name] for name in names)
    result["ratios"] = {"preresnet / timm": pre / timm, "zerosnet / preresnet": zero / pre}
    for rate in restarted:
        result["ratios"]["zerosnet / zerosnet with its history restarted"] = zero / rate
    _say(", ".join(f"{name} {value:.3f}" for name, value in result["ratios"].items()))
    return result


# -- compute -----------------------------------------------------------------------------------------------------------


def _compute(names: Sequence[str], batch: int, side: int, rounds: int, device: str) -> dict[str, float]:
    """Median rates, the networks taking turns."""
    images, labels = _batch(batch, side, device)
    steps = {name: _step(name, images, labels, device) for name in names}
    for step in steps.values():
        for _ in range(3):
            step()
    repeats = 1 if device == "cpu" else 8
    turns: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            turns[name].append(milliseconds(steps[name], repeats, device))
    rates = {name: 1e3 * batch / statistics.median(times) for name, times in turns.items()}
    for name, rate in rates.items():
        _say(f"{name}: {rate:.0f} images/s")
    steps.clear()
    _clean(device)
    return rates


def _step(name: str, images: Tensor, labels: Tensor, device: str) -> Step:
    model = _network(name, device).to(device, memory_format=torch.channels_last)
    if device == "cuda":
        model.compile(dynamic=False)
    return training_step(model, images, labels)


def _network(name: str, device: str) -> nn.Module:
    if name.startswith("timm "):
        import timm

        return Autocast(timm.create_model(name.removeprefix("timm "), num_classes=CLASSES), device)
    options = {"stage_change": "restart"} if "restarted" in name else {}
    model = create_model(name.partition(",")[0], seed=0, num_classes=CLASSES, **options)
    if device == "cuda":
        model.conv_dtype = model.state_dtype = torch.bfloat16
    return model


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


def _folders(made: Path, files: int) -> Iterator[tuple[str, Path]]:
    """What there is to read, with what must be said beside every rate."""
    if given := os.environ.get("ZEROSNET_IMAGES"):
        yield _description(Path(given)), Path(given)
    kilobytes = write_pictures(made, files)
    yield f"{files} made files of 500 x 375 pixels, {kilobytes:.0f} kB on average", made


def _description(folder: Path) -> str:
    """How many files a folder has for training, and how large they are, by the first of them."""
    from PIL import Image

    files = sorted(path for path in (folder / "train").glob("*/*") if path.is_file())
    kilobytes = sum(path.stat().st_size for path in files) / len(files) / 1e3
    with Image.open(files[0]) as image:
        width, height = image.size
    return f"{len(files)} given files of {width} x {height} pixels, {kilobytes:.0f} kB on average"


def _with_all_classes(data: FolderData) -> FolderData:
    """The same images for a network of 1000 classes: that of ImageNet, and the one that is compiled already."""
    return replace(data, classes=(*data.classes, *(f"none {k}" for k in range(data.num_classes, CLASSES))))


def _loader(data: FolderData, batch: int, device: str, workers: int, seconds: float) -> float:
    """Images a second that reach the device, with nothing else to do."""
    made = recipe("imagenet", "imagefolder")
    items = partial(
        training_items, len(data.train), seed=1, batch=batch, part=(0, 1), micro=batch, position=0, steps=10**6
    )
    decoder = Decoder(data.train, data.side, made.augmentation, 1)
    stream = Stream(
        decoder, items, batch=batch, device=torch.device(device), workers=workers, report=partial(_fail, "broken: ")
    )
    batches = iter(stream)
    return _watch(lambda: next(batches), batch, seconds, device)


def _end_to_end(name: str, data: FolderData, batch: int, device: str, workers: int, seconds: float) -> float:
    """Images a second of the training that `zerosnet train --recipe imagenet` does."""
    made = recipe("imagenet", "imagefolder", name, batch=batch, epochs=10**5)
    place = torch.device(device, 0) if device == "cuda" else torch.device(device)
    training = LargeTraining(
        RunSpec(name, data.name, made, 1),
        data,
        place,
        World(),
        StreamOptions(),
        workers=workers,
        report=partial(_fail, "broken: "),
    )
    training.begin(0)
    try:
        return _watch(training.step, batch, seconds, device)
    finally:
        training.close()
        del training
        _clean(device)


def _gpu_decoder(data: FolderData, count: int = 512) -> float | str:
    """Images a second of torchvision's decoder on the GPU (nvJPEG), without crop and resize; for comparison."""
    from torchvision.io import decode_jpeg

    count = min(count, len(data.train))
    contents = [torch.frombuffer(bytearray(data.train.path(k).read_bytes()), dtype=torch.uint8) for k in range(count)]
    try:
        decode_jpeg(contents[:64], device="cuda")
        torch.cuda.synchronize()
        start = time.perf_counter()
        for first in range(0, count, 64):
            decode_jpeg(contents[first : first + 64], device="cuda")
        torch.cuda.synchronize()
    except RuntimeError as error:
        return " ".join(str(error).split())[:200]
    return count / (time.perf_counter() - start)


def _watch(step: Callable[[], Any], batch: int, seconds: float, device: str) -> float:
    """Images a second over a while, after a start in which what was decoded during compilation is used up."""
    wait = torch.cuda.synchronize if device == "cuda" else nullcontext
    for _ in range(3):
        step()
    wait()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds / 3:
        step()
    wait()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    wait()
    return steps * batch / (time.perf_counter() - start)


def _fail(before: str, line: str) -> None:
    raise RuntimeError(before + line)


def _clean(device: str) -> None:
    gc.collect()
    if device == "cuda":
        torch._dynamo.reset()
        torch.cuda.empty_cache()


def _say(line: str) -> None:
    print(f"   {line}", flush=True)

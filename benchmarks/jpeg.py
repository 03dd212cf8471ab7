"""How fast JPEG files become batches on the device: by the workers of the real training, and by the GPU's own decoder.

The files fit into memory and are read from there: a slow disk is not part of these rates.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.data import FileSet, FolderData
from zerosnet.data.decode import random_crop
from zerosnet.data.plan import Augmentation
from zerosnet.data.randomness import stream_seed
from zerosnet.data.streaming import Decoder, Item, Stream, training_items
from zerosnet.training import recipe

READERS = 4  # threads that read files for the GPU's decoder
PATIENCE = 90  # seconds after which a GPU decoder that has not answered is given up


def watch(step: Callable[[], Any], batch: int, seconds: float, device: str) -> float:
    """Images a second over a while, after a start in which what was decoded before is used up."""
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


def loader_rate(data: FolderData, batch: int, device: str, workers: int, seconds: float) -> float:
    """Images a second that reach the device, with nothing else to do."""
    decoder = Decoder(data.train, data.side, augmentation(), 1)
    items = partial(_items, data, batch)
    stream = Stream(decoder, items, batch=batch, device=torch.device(device), workers=workers, report=fail)
    batches = iter(stream)
    return watch(lambda: next(batches), batch, seconds, device)


def augmentation() -> Augmentation:
    return recipe("imagenet", "imagefolder").augmentation


def fail(line: str) -> None:
    raise RuntimeError(f"broken: {line}")


def _items(data: FolderData, batch: int) -> Iterator[list[Item]]:
    return training_items(len(data.train), seed=1, batch=batch, part=(0, 1), micro=batch, position=0, steps=10**6)


# -- the GPU's decoder -------------------------------------------------------------------------------------------------


def gpu_rates(data: FolderData, batch: int, seconds: float, device: str = "cuda") -> dict[str, Any]:
    """What `nvjpeg_rates` measures, or why there is nothing to measure.

    In a process of its own: a decoder that crashes or hangs takes nothing with it.
    """
    try:
        with get_context("spawn").Pool(1) as pool:
            return pool.apply_async(nvjpeg_rates, (data, batch, seconds, device)).get(PATIENCE)
    except Exception as error:
        return {"unavailable": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}


def nvjpeg_rates(data: FolderData, batch: int, seconds: float, device: str) -> dict[str, float]:
    """Images a second of torchvision's decoder on the GPU (nvJPEG): alone, and with reading, crop and resize.

    Its pixels are not those of the processor's decoder, colours least of all; `difference` is the mean of it, of 255.
    """
    box = augmentation()
    batches = _items(data, batch)
    first = next(batches)
    contents = [_content(data.train.path(index)) for _, index in first]
    alone = watch(lambda: _decode(contents, device), batch, seconds / 2, device)
    with ThreadPoolExecutor(READERS) as readers:
        waiting = iter(batches)
        ahead = [readers.submit(_read, data.train, items) for items in islice(waiting, READERS)]

        def step() -> Tensor:
            items, read = ahead.pop(0).result()
            ahead.append(readers.submit(_read, data.train, next(waiting)))
            return crops(_decode(read, device), items, data.side, box)

        whole = watch(step, batch, seconds, device)
    ours = crops(_decode(contents, device), first, data.side, box)
    theirs = Decoder(data.train, data.side, box, 1).__getitems__(first).images
    return {"alone": alone, "loader": whole, "difference": (ours.cpu().float() - theirs.float()).abs().mean().item()}


def crops(images: Sequence[Tensor], items: Sequence[Item], side: int, box: Augmentation) -> Tensor:
    """Decoded images (3, h, w) to (n, side, side, 3), cut and resized on their device, in the boxes of `Decoder`."""
    made = []
    for image, (epoch, index) in zip(images, items):
        chance = random.Random(stream_seed(1, "resized-crop", epoch, index))
        chance.random()  # whether it is mirrored
        left, top, width, height = random_crop(image.shape[2], image.shape[1], box, chance)
        part = image[None, :, top : top + height, left : left + width].float()
        made.append(F.interpolate(part, (side, side), mode="bilinear", antialias=True))
    return torch.cat(made).round_().clamp_(0, 255).to(torch.uint8).permute(0, 2, 3, 1)


def _read(files: FileSet, items: Sequence[Item]) -> tuple[Sequence[Item], list[Tensor]]:
    return items, [_content(files.path(index)) for _, index in items]


def _content(path: Path) -> Tensor:
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)


def _decode(contents: list[Tensor], device: str) -> list[Tensor]:
    from torchvision.io import ImageReadMode, decode_jpeg

    found: list[Tensor] = decode_jpeg(contents, mode=ImageReadMode.RGB, device=device)
    return found

"""How fast JPEG files become batches on the device, decoded by the workers of the real training or by the GPU itself.

The files fit into memory and are read from there: a slow disk is not part of these rates.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch

from zerosnet.data import Augmentation, FolderData
from zerosnet.data.streamed.batches import Decoder, Item, Stream, training_items
from zerosnet.data.streamed.gpu_decode import Reader, decode_on
from zerosnet.training import recipe


def watch(step: Callable[[], Any], batch: int, seconds: float, device: str) -> float:
    """Images a second over a while, after half as long a start, in which what was decoded before is used up."""
    wait = torch.cuda.synchronize if device == "cuda" else nullcontext
    for _ in range(3):
        step()
    wait()
    _for(step, seconds / 2)
    wait()
    began = time.perf_counter()
    steps = _for(step, seconds)
    wait()
    return steps * batch / (time.perf_counter() - began)


def _for(step: Callable[[], Any], seconds: float) -> int:
    """Take steps for a while and return their number."""
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        step()
        steps += 1
    return steps


def loader_rate(data: FolderData, batch: int, device: str, workers: int, seconds: float, on_device: bool) -> float:
    """Images a second that reach the device, with nothing else to do."""
    stream = Stream(
        Decoder(data.train, data.side, augmentation(), 1),
        partial(_items, data, batch),
        batch=batch,
        device=_place(device),
        workers=workers,
        on_device=on_device,
        report=fail,
    )
    batches = iter(stream)
    return watch(lambda: next(batches), batch, seconds, device)


def difference(data: FolderData, batch: int, device: str) -> float:
    """By how much of 255 the pixels of the device's decoder differ from those of the workers', in the mean."""
    decoder, items = Decoder(data.train, data.side, augmentation(), 1), next(_items(data, batch))
    ours = decode_on(_place(device), decoder, [Reader(decoder).__getitems__(items)])
    theirs = decoder.__getitems__(items)
    return (ours.images.cpu().float() - theirs.images.float()).abs().mean().item()


def _place(device: str) -> torch.device:
    return torch.device(device, 0) if device == "cuda" else torch.device(device)


def augmentation() -> Augmentation:
    return recipe("imagenet", "imagefolder").augmentation


def fail(line: str) -> None:
    raise RuntimeError(f"broken: {line}")


def _items(data: FolderData, batch: int) -> Iterator[list[Item]]:
    return training_items(len(data.train), seed=1, batch=batch, part=(0, 1), micro=batch, position=0, steps=10**6)

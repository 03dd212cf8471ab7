"""JPEG files decoded, cut and resized by the GPU; what it cannot do, the processor does as everywhere else.

The same boxes of the same images as `streaming.Decoder`, but not the same pixels: each decoder rounds in its own way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset

from zerosnet.data.decode import Box, draw_crop, resize
from zerosnet.data.streaming import Decoder, Item, Piece

BEGINNING, END = b"\xff\xd8\xff", b"\xff\xd9"
TAIL = 1024  # bytes at the end of a file among which a JPEG's end must be: cameras add some of their own


class Contents(NamedTuple):
    """The files of a piece's items as they are, end to end: `sizes` in bytes, 0 where the GPU is not to be asked.

    What that is (no JPEG, or not all of one, or no file) the processor has decoded already, in `rest`.
    """

    files: Tensor
    sizes: list[int]
    items: list[Item]
    rest: Piece


@dataclass(frozen=True, eq=False)
class Reader(Dataset[Contents]):
    """What a worker does where the GPU decodes: it reads, and decodes only what looks strange."""

    decoder: Decoder

    def __getitems__(self, items: Sequence[Item]) -> Contents:
        files = [_whole_jpeg(self.decoder.files.path(index)) for _, index in items]
        strange = [item for item, content in zip(items, files) if not content]
        content = torch.frombuffer(bytearray(b"".join(files) or b"nothing"), dtype=torch.uint8)
        return Contents(content, [len(file) for file in files], list(items), self.decoder.__getitems__(strange))


def _whole_jpeg(path: Path) -> bytes:
    """A file's content where it begins and ends as a JPEG does, else nothing."""
    try:
        content = path.read_bytes()
    except OSError:
        return b""
    return content if content.startswith(BEGINNING) and END in content[-TAIL:] else b""


def decode_on(device: torch.device, decoder: Decoder, pieces: Sequence[Contents]) -> Piece:
    """The training images of a reader's pieces, as one; all but the lines about broken files is on the device.

    torchvision's decoder writes on a stream of its own into memory that may still be read on the current one
    (pytorch/vision#9606), so that is waited for: before anything is allocated, and before anything is freed.
    """
    _wait(device)
    items = [item for piece in pieces for item in piece.items]
    files = [file for piece in pieces for file in piece.files[: sum(piece.sizes)].split(piece.sizes)]
    strange = [place for place, file in enumerate(files) if not len(file)]
    read = [place for place, file in enumerate(files) if len(file)]
    found = list(zip(read, _decoded([files[place] for place in read], device)))
    refused = [place for place, image in found if image is None]
    good = {place: image for place, image in found if image is not None}
    parts = [
        _cropped(decoder, [items[place] for place in good], list(good.values())),
        decoder.__getitems__([items[place] for place in refused]),
        *(piece.rest for piece in pieces),
    ]
    _wait(device)
    return _put_together(parts, [*good, *refused, *strange], device)


def _cropped(decoder: Decoder, items: Sequence[Item], images: Sequence[Tensor]) -> Piece:
    """The training images of items whose files are decoded, where these are."""
    if not items:
        return decoder.__getitems__([])
    sizes = [(image.shape[2], image.shape[1]) for image in images]
    drawn = [draw_crop(*size, decoder.augmentation, decoder.seed, *item) for size, item in zip(sizes, items)]
    boxes, flips = zip(*drawn)
    labels = decoder.files.labels[[index for _, index in items]]
    return Piece(cut(images, boxes, decoder.side), torch.tensor(flips), labels, [])


def _put_together(parts: Sequence[Piece], places: Sequence[int], device: torch.device) -> Piece:
    """Pieces as one on the device, its k-th image moved to place `places[k]`."""
    columns = [torch.cat([t.to(device, non_blocking=True) for t in column]) for column in zip(*(p[:3] for p in parts))]
    if list(places) != sorted(places):
        order = torch.tensor(places).argsort().to(device)
        columns = [column[order] for column in columns]
    images, flips, labels = columns
    return Piece(images, flips, labels, [line for part in parts for line in part.broken])


def _decoded(contents: list[Tensor], device: torch.device) -> list[Tensor | None]:
    """Images (3, h, w) on the device; None for those that its decoder refuses, which are found by halving."""
    from torchvision.io import ImageReadMode, decode_jpeg

    if not contents:
        return []
    try:
        return list(decode_jpeg(contents, mode=ImageReadMode.RGB, device=device))
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:
        if len(contents) == 1:
            return [None]
        middle = len(contents) // 2
        return _decoded(contents[:middle], device) + _decoded(contents[middle:], device)


def cut(images: Sequence[Tensor], boxes: Sequence[Box], side: int) -> Tensor:
    """A box of each image (3, h, w), resized to a square: (n, side, side, 3), on the images' device."""
    if images[0].device.type == "cuda":
        from zerosnet.data.crops import resized_crops  # imports Triton

        return resized_crops(images, boxes, side)
    parts = zip(images, boxes)
    return torch.stack([resize(im[:, top : top + h, left : left + w], side, side) for im, (left, top, w, h) in parts])


@cache
def reason_against(device: torch.device) -> str | None:
    """Why a device cannot decode, in a few words; None if it can."""
    if device.type != "cuda":
        return "there is no CUDA device"
    try:
        from torchvision.io import encode_jpeg

        gray = torch.full((3, 16, 16), 128, dtype=torch.uint8)
        (image,) = _decoded([encode_jpeg(gray)], device)
        if image is None:
            return "torchvision has no decoder for it"
        return None if (cut([image], [(0, 0, 16, 16)], 8).int() - 128).abs().max() <= 2 else "it decodes wrongly"
    except Exception as error:  # whatever is wrong with a driver, a library or a compiler: the workers can
        return " ".join(str(error).split())[:200] or type(error).__name__


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()

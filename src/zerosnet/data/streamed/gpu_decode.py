"""Decode, crop and resize JPEG files on the GPU; files that it cannot decode are decoded on the CPU.

The same boxes of the same images as `batches.Decoder`, but not the same pixels: each decoder rounds in its own way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset

from zerosnet.data.pictures import jpeg_size
from zerosnet.data.streamed.batches import BatchPiece, Decoder, Item, joined
from zerosnet.data.streamed.decode import Box, draw_crop, resize
from zerosnet.errors import InputError

AT_ONCE = 256  # files that the device decodes in one go: it is slower with more
PIXELS = 2**27  # of such files together, 400 MB
LARGE = 2**25  # pixels of a file that is left to the workers
MANY = 16  # files of which a decoder that works takes at least one


class File(NamedTuple):
    """A training image on its way: its bytes (0: its worker has decoded it), its size and what is cut out of it."""

    epoch: int
    number: int
    bytes: int = 0
    width: int = 0
    height: int = 0
    left: int = 0
    top: int = 0
    box_width: int = 0
    box_height: int = 0
    flip: int = 0

    @property
    def item(self) -> Item:
        return self.epoch, self.number

    @property
    def box(self) -> Box:
        return self.left, self.top, self.box_width, self.box_height


class Contents(NamedTuple):
    """The bytes of a piece's files, one row of `files` for each, and in `rest` the images that its worker decoded."""

    content: Tensor
    files: Tensor
    rest: BatchPiece


@dataclass(frozen=True, eq=False)
class Reader(Dataset[Contents]):
    """A worker's task if the GPU decodes: read files and draw their boxes.

    The worker itself decodes files that are no ordinary JPEG, truncated, or huge.
    """

    decoder: Decoder

    def __getitems__(self, items: Sequence[Item]) -> Contents:
        read = [self._read(item) for item in items]
        content = torch.frombuffer(bytearray(b"".join(content for _, content in read) or b"nothing"), dtype=torch.uint8)
        mine = [file.item for file, _ in read if not file.bytes]
        return Contents(content, torch.tensor([file for file, _ in read]), self.decoder.__getitems__(mine))

    def _read(self, item: Item) -> tuple[File, bytes]:
        decoder = self.decoder
        try:
            content = decoder.files.path(item[1]).read_bytes()
        except OSError:
            return File(*item), b""
        size = jpeg_size(content)
        if size is None or size[0] * size[1] > LARGE:
            return File(*item), b""
        box, flip = draw_crop(*size, decoder.augmentation, decoder.seed, *item)
        return File(*item, len(content), *size, *box, flip), content


def decode_on(device: torch.device, decoder: Decoder, pieces: Sequence[Contents]) -> BatchPiece:
    """Decode the training images of a reader's pieces into one piece on the device.

    torchvision's decoder writes on a stream of its own into memory that may still be read on the current stream
    (pytorch/vision#9606). So wait for the current stream before anything is allocated or freed.
    """
    files = [File(*row) for piece in pieces for row in piece.files.tolist()]
    contents = [content for piece in pieces for content in _apart(piece)]
    parts: list[BatchPiece] = []
    done: list[int] = []
    _wait(device)
    for places in _in_portions(files):
        images = _decoded([contents[place] for place in places], device)
        fitting = {
            place: image for place, image in zip(places, images) if image is not None and _fits(image, files[place])
        }
        if fitting:
            parts.append(_cropped(decoder, [files[place] for place in fitting], list(fitting.values())))
            done += fitting
            _wait(device)
        elif len(places) >= MANY:
            raise InputError(f"the GPU's decoder refuses all of {len(places)} files; --decoder workers goes without it")
        del images, fitting  # before the next ones are decoded
    refused = [place for place, file in enumerate(files) if file.bytes and place not in set(done)]
    theirs = [place for place, file in enumerate(files) if not file.bytes]
    parts += [decoder.__getitems__([files[place].item for place in refused]), *(piece.rest for piece in pieces)]
    return _put_together(parts, [*done, *refused, *theirs], device)


def _in_portions(files: Sequence[File]) -> Iterator[list[int]]:
    """Yield the places of the files that the device decodes, in portions of a size that suits it."""
    portion: list[int] = []
    pixels = 0
    for place, file in enumerate(files):
        if not file.bytes:
            continue
        size = file.width * file.height
        if portion and (len(portion) == AT_ONCE or pixels + size > PIXELS):
            yield portion
            portion, pixels = [], 0
        portion.append(place)
        pixels += size
    if portion:
        yield portion


def _apart(piece: Contents) -> Sequence[Tensor]:
    sizes = piece.files[:, File._fields.index("bytes")].tolist()
    return piece.content[: sum(sizes)].split(sizes)


def _fits(image: Tensor, file: File) -> bool:
    return tuple(image.shape) == (3, file.height, file.width)


def _cropped(decoder: Decoder, files: Sequence[File], images: Sequence[Tensor]) -> BatchPiece:
    """Crop decoded images to training images, on their device."""
    pixels = cut(images, [file.box for file in files], decoder.side)
    labels = decoder.files.labels[[file.number for file in files]]
    return BatchPiece(pixels, torch.tensor([bool(file.flip) for file in files]), labels, [])


def _put_together(parts: Sequence[BatchPiece], places: Sequence[int], device: torch.device) -> BatchPiece:
    """Join pieces on the device, and move image k to place `places[k]`."""
    whole = joined(device, parts)
    if list(places) == sorted(places):
        return whole
    order = torch.tensor(places).argsort().to(device)
    return BatchPiece(whole.images[order], whole.flips[order], whole.labels[order], whole.broken)


def _decoded(contents: list[Tensor], device: torch.device) -> list[Tensor | None]:
    """Decode images (3, h, w) on the device; None for those that its decoder refuses, which are found by halving."""
    from torchvision.io import ImageReadMode, decode_jpeg

    try:
        return list(decode_jpeg(contents, mode=ImageReadMode.RGB, device=device))
    except RuntimeError as error:
        if "out of memory" in str(error).lower() or "cuda error" in str(error).lower():
            raise  # nothing that a file could do
        if len(contents) == 1:
            return [None]
        middle = len(contents) // 2
        return _decoded(contents[:middle], device) + _decoded(contents[middle:], device)


def cut(images: Sequence[Tensor], boxes: Sequence[Box], side: int) -> Tensor:
    """Cut a box out of each image (3, h, w) and resize it: (n, side, side, 3), on the images' device."""
    if images[0].device.type == "cuda":
        from zerosnet.data.streamed.gpu_crops import resized_crops  # imports Triton

        return resized_crops(images, boxes, side)
    parts = zip(images, boxes)
    return torch.stack([resize(im[:, top : top + h, left : left + w], side, side) for im, (left, top, w, h) in parts])


@cache
def reason_against(device: torch.device) -> str | None:
    """Give the reason why a device cannot decode, in a few words; None if it can."""
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

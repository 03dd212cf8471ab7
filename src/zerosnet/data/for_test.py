"""Load a data set to test on it; a streamed one is decoded once and held in memory."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from zerosnet.data.dataset import DataSet, ImageSet
from zerosnet.data.registry import load, open_folder, source
from zerosnet.data.streamed.batches import UNCOUNTED, Decoder, Stream, evaluation_items
from zerosnet.data.streamed.imagefolder import FileSet
from zerosnet.errors import InputError

BATCH = 256


def load_for_test(
    name: str, root: Any = None, *, workers: int = 0, report: Callable[[str], None] = lambda line: None
) -> DataSet:
    """Load a data set with its test images; a streamed one ("imagefolder") has centre crops and no training images.

    `workers` processes decode; a file that is no image is left out, and `report` is told. ImageNet's 50,000 test images
    take 7.5 GB.
    """
    if not source(name).streamed:
        return load(name, root)
    data = open_folder(name, root)
    test = centre_crops(data.test, data.side, workers=workers, report=report)
    return DataSet(name, test.subset(torch.arange(0)), test, data.num_classes, data.mean, data.std)


def centre_crops(files: FileSet, side: int, *, workers: int, report: Callable[[str], None]) -> ImageSet:
    """Decode the centre crops of all files that can be decoded, in order."""
    images = torch.empty(len(files), side, side, 3, dtype=torch.uint8)
    labels = torch.full((len(files),), UNCOUNTED)
    batch = min(BATCH, len(files))
    items = partial(evaluation_items, len(files), batch=batch, part=(0, 1))
    cpu = torch.device("cpu")
    start = 0
    for decoded in Stream(Decoder(files, side), items, batch=batch, device=cpu, workers=workers, report=report):
        here = slice(start, min(start + batch, len(files)))
        images[here], labels[here] = decoded.images[: here.stop - start], decoded.labels[: here.stop - start]
        start += batch
    good = labels != UNCOUNTED
    if not good.any():
        raise InputError(f"{files.root} holds not one image that can be decoded")
    if not good.all():
        images, labels = images[good], labels[good]
    return ImageSet(images.permute(0, 3, 1, 2), labels)

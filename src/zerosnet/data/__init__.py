"""Data sets as uint8 arrays, and batches made from them on the device."""

from zerosnet.data.dataset import SCALINGS, DataSet, ImageSet, image_weight, pixel_statistics
from zerosnet.data.gather import gather
from zerosnet.data.imagefolder import FileSet, FolderData
from zerosnet.data.plan import Augmentation, EpochPlan, epoch_plan, stack
from zerosnet.data.randomness import stream, stream_seed
from zerosnet.data.registry import SOURCES, Source, image_size, list_datasets, load, open_folder, source

__all__ = [
    "SCALINGS",
    "SOURCES",
    "Augmentation",
    "DataSet",
    "EpochPlan",
    "FileSet",
    "FolderData",
    "ImageSet",
    "Source",
    "epoch_plan",
    "gather",
    "image_size",
    "image_weight",
    "list_datasets",
    "load",
    "open_folder",
    "pixel_statistics",
    "source",
    "stack",
    "stream",
    "stream_seed",
]

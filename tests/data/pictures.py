"""Tiny folders of JPEG files in ImageNet's layout."""

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("n00000001", "n00000002", "n00000003")


def write_picture(path: Path, colour: int, width: int, height: int, seed: int = 0) -> None:
    """Noise with one strong colour channel, so that a network can learn it within a few steps."""
    pixels = np.random.default_rng(seed).integers(0, 90, (height, width, 3))
    pixels[..., colour] += 130
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path, "JPEG", quality=90)


def write_folder(root: Path, train: int = 8, val: int = 5) -> Path:
    """Three classes with `train` and `val` images each, all of different size."""
    for part, count in (("train", train), ("val", val)):
        for label, name in enumerate(CLASSES):
            for k in range(count):
                seed = 100 * label + k + (1000 if part == "val" else 0)
                write_picture(root / part / name / f"{name}_{k}.JPEG", label, 36 + seed % 17, 40 + seed % 13, seed)
    return root

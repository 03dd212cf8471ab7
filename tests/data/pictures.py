"""Tiny folders of JPEG files in ImageNet's layout."""

import io
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


def write_strange_files(folder: Path) -> list[Path]:
    """Among the files of `write_folder`: a PNG called .JPEG, a JPEG with more after its end, half of one, and junk."""
    names = sorted((folder / "train").glob("*/*"))
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    names[1].write_bytes(buffer.getvalue())
    names[4].write_bytes(names[4].read_bytes() + bytes(20))
    names[9].write_bytes(names[9].read_bytes()[:600])
    names[15].write_bytes(b"no image")
    return names

"""JPEG files that cost what ImageNet's cost to decode, as many pixels and about as many bytes; or given files."""

import io
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 500, 375  # the most frequent size among ImageNet's
GRAIN = 26.0  # standard deviation of the fine noise; decides the number of bytes


def folders(made: Path, files: int) -> Iterator[tuple[str, Path]]:
    """List the folders to read, each with the description that stands beside its rates."""
    if given := os.environ.get("ZEROSNET_IMAGES"):
        yield _description(Path(given)), Path(given)
    kilobytes = write_pictures(made, files)
    yield f"{files} made files of 500 x 375 pixels, {kilobytes:.0f} kB on average", made


def _description(folder: Path) -> str:
    """Describe a folder: its training files, and the size of the first of them."""
    files = sorted(path for path in (folder / "train").glob("*/*") if path.is_file())
    kilobytes = sum(path.stat().st_size for path in files) / len(files) / 1e3
    with Image.open(files[0]) as image:
        width, height = image.size
    return f"{len(files)} given files of {width} x {height} pixels, {kilobytes:.0f} kB on average"


def write_pictures(root: Path, count: int, width: int = WIDTH, height: int = HEIGHT) -> float:
    """Ten classes, `count` files for training and a few for validation; the mean size of a file in kB."""
    jobs = [(root / "train" / f"n{k % 10:08d}" / f"{k}.JPEG", k, width, height) for k in range(count)]
    jobs += [(root / "val" / f"n{k:08d}" / f"{k}.JPEG", count + k, width, height) for k in range(10)]
    for folder in {path.parent for path, *_ in jobs}:
        folder.mkdir(parents=True, exist_ok=True)
    if count < 100:
        sizes = [_write(*job) for job in jobs]
    else:
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
            sizes = list(pool.map(_write, *zip(*jobs), chunksize=32))
    return sum(sizes) / len(sizes) / 1e3


def _write(path: Path, seed: int, width: int, height: int) -> int:
    """Smooth colours with grain on them."""
    chance = np.random.default_rng(seed)
    coarse = Image.fromarray(chance.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)
    grain = chance.normal(0, GRAIN, (height, width, 1)).astype(np.float32)
    pixels = np.clip(smooth + grain, 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=88)
    return path.write_bytes(buffer.getvalue())

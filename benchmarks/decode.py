"""What a worker does for a training image, part by part, on one processor core: JPEG files of ImageNet's size.

Would it pay to have the GPU cut and resize what workers decode? They would be spared the resizing, and would have to
copy and send the box as it is.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.jpeg import augmentation
from benchmarks.pictures import write_pictures
from benchmarks.record import Result, on_cpu
from zerosnet.data.streamed.decode import random_crop, read_image, resize, training_image

FILES, ROUNDS, SIDE = 90, 7, 224
suffix = on_cpu


def run(files: int = FILES, rounds: int = ROUNDS) -> Result:
    """Milliseconds an image, median of rounds, the parts in turns; and the pixels that travel."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as made:
            write_pictures(Path(made), files)
            return _measure(sorted(Path(made, "train").glob("*/*")), rounds)
    finally:
        torch.set_num_threads(before)


def _measure(paths: list[Path], rounds: int) -> Result:
    box = augmentation()
    images = [read_image(path) for path in paths]
    boxes = [random_crop(im.shape[2], im.shape[1], box, random.Random(k)) for k, im in enumerate(images)]
    parts = [im[:, y : y + h, x : x + w] for im, (x, y, w, h) in zip(images, boxes)]
    count = range(len(paths))
    works: dict[str, Callable[[int], Tensor]] = {
        "a training image, all in all": lambda k: training_image(paths[k], SIDE, box, 1, 0, k)[0],
        "decoding": lambda k: read_image(paths[k]),
        "resizing the box": lambda k: resize(parts[k], SIDE, SIDE).contiguous(),
        "copying the box": lambda k: parts[k].contiguous(),
    }
    turns: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            began = time.perf_counter()
            for k in count:
                work(k)
            turns[name].append(1e3 * (time.perf_counter() - began) / len(paths))
    sizes = [w * h for _, _, w, h in boxes]
    return {
        "files": len(paths),
        "milliseconds": {name: statistics.median(times) for name, times in turns.items()},
        "pixels of the box / pixels of the square": statistics.mean(sizes) / SIDE**2,
    }

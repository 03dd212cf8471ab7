"""Compare the regenerated corruptions with the program that made CIFAR-10-C, pixel by pixel.

    python -m tools.compare_corruptions PATH/make_cifar_c.py [DATA]

The program is ImageNet-C/create_c/make_cifar_c.py of github.com/hendrycks/robustness; it needs wand with ImageMagick,
opencv, scikit-image, and numpy below 2. Its distortions are run on test images of CIFAR-10 from the folder DATA, or on
pieces of two photographs, and wherever it asks for a random number it gets the one that ours drew.
benchmarks/results/corruptions.json gets, per corruption and severity, the part of all values that are equal, and the
largest difference in steps of a byte.
"""

import ast
import json
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.ndimage
import torch
from torch import Tensor

from tools.markdown_tables import BENCHMARKS
from zerosnet.robustness import CORRUPTIONS, corrupt
from zerosnet.robustness.corruptions.draws import Draws

IMAGES, SIZE = 100, 32
PACKAGES = ("numpy", "scipy", "scikit-image", "opencv-python-headless", "wand", "pillow", "torch")


def photographs(count: int = IMAGES) -> Tensor:
    """Cut pieces out of the two photographs that come with scikit-learn, a quarter of their size."""
    from sklearn.datasets import load_sample_images

    pieces = []
    for photograph in load_sample_images().images:
        pixels = torch.from_numpy(np.array(photograph)).permute(2, 0, 1).float()
        small = torch.nn.functional.avg_pool2d(pixels, 4)
        for top in range(0, small.shape[1] - SIZE, SIZE):
            for left in range(0, small.shape[2] - SIZE, SIZE):
                pieces.append(small[:, top : top + SIZE, left : left + SIZE])
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(1))[:count]
    return torch.stack([pieces[i] for i in order]).round().byte()


def cifar_images(data: Path, count: int = IMAGES) -> Tensor:
    """Read the first test images of CIFAR-10."""
    from zerosnet.data import load

    return load("cifar10", data).test.images[:count]


def distortions(path: Path) -> dict[str, Any]:
    """Run the imports and functions of the published program, and nothing else of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    kept = [node for node in tree.body if isinstance(node, definitions) or "wandlibrary" in ast.unparse(node)]
    space: dict[str, Any] = {}
    sys.modules.setdefault("scipy.ndimage.interpolation", scipy.ndimage)  # its old name
    exec(compile(ast.Module(kept, []), str(path), "exec"), space)
    from skimage.filters import gaussian

    def blurred(image: Any, sigma: float, multichannel: bool = False, **rest: Any) -> Any:
        return gaussian(image, sigma, channel_axis=-1 if multichannel else None, **rest)

    space["gaussian"] = blurred  # a word of the call has changed since
    return space


def numbers(name: str, draws: Draws) -> Iterator[Any]:
    """Yield what a corruption asks for, in the order in which the published program does, for one image."""

    def field(what: str, *shape: int, kind: str = "uniform") -> np.ndarray:
        return np.asarray(getattr(draws, kind)(what, *shape)[0].numpy())

    if name in ("gaussian_noise", "speckle_noise"):
        yield field("noise", 3, SIZE, SIZE, kind="normal").transpose(1, 2, 0)
    elif name == "shot_noise":
        yield field("count", 3, SIZE, SIZE).transpose(1, 2, 0)
    elif name == "impulse_noise":
        yield from (field(what, 3, SIZE, SIZE).transpose(1, 2, 0) for what in ("hit", "extreme"))
    elif name == "glass_blur":
        for turn in range(2):
            left, up = (-(field(f"{way} {turn}", SIZE, SIZE) < 0.5).astype(int) for way in ("left", "up"))
            yield from ((left[h, w], up[h, w]) for h in range(31, 1, -1) for w in range(31, 1, -1))
    elif name == "motion_blur":
        yield field("angle")
    elif name == "snow":
        yield field("flakes", 1, SIZE, SIZE, kind="normal")[0]
        yield field("angle")
    elif name == "fog":
        for step in (32, 16, 8, 4, 2):
            yield from (field(f"{what} {step}", SIZE // step, SIZE // step) for what in ("square", "across", "down"))
    elif name == "elastic_transform":
        yield field("points", 3, 2)
        yield from (field(way, 1, SIZE, SIZE)[0] for way in ("across", "down"))
    elif name == "spatter":
        yield field("liquid", 1, SIZE, SIZE, kind="normal")[0]


def published(space: dict[str, Any], name: str, severity: int, image: Tensor, place: int) -> np.ndarray:
    """Corrupt one image by the published program, with our random numbers."""
    from PIL import Image
    from scipy.stats import poisson

    ours = numbers(name, Draws(torch.tensor([place]), name))
    fed = SimpleNamespace(
        normal=lambda size=None, loc=0.0, scale=1.0: loc + scale * next(ours),
        uniform=lambda low, high, size=None: low + (high - low) * next(ours),
        poisson=lambda mean: poisson.ppf(next(ours), mean),
        randint=lambda low, high, size=None: next(ours),
        random=lambda size=None: next(ours),
    )
    changed = {name: getattr(fed, name) for name in ("normal", "uniform", "poisson", "randint")}
    with patch.multiple(np.random, default_rng=lambda *_: fed, **changed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = space[name](Image.fromarray(image.permute(1, 2, 0).numpy()), severity)
        return np.asarray(found).astype(np.uint8)


def compare(path: Path, data: Path | None = None) -> dict[str, Any]:
    space, images = distortions(path), photographs() if data is None else cifar_images(data)
    rows = {}
    for name, one in CORRUPTIONS.items():
        if one.published:
            rows[name] = {
                "random": one.random,
                "severities": [_difference(space, name, s, images) for s in range(1, 6)],
            }
    return {
        "command": f"python -m tools.compare_corruptions {path.name}{'' if data is None else ' DATA'}",
        "images": f"{len(images)} {'pieces of photographs' if data is None else 'test images of CIFAR-10'}",
        "versions": {package: version(package) for package in PACKAGES} | {"ImageMagick": _magick()},
        "corruptions": rows,
    }


def _difference(space: dict[str, Any], name: str, severity: int, images: Tensor) -> dict[str, float]:
    ours = corrupt(images, name, severity).permute(0, 2, 3, 1).numpy().astype(int)
    theirs = np.stack([published(space, name, severity, image, i) for i, image in enumerate(images)]).astype(int)
    apart = np.abs(ours - theirs)
    return {"equal": float((apart == 0).mean()), "within_one": float((apart <= 1).mean()), "most": int(apart.max())}


def _magick() -> str:
    from wand.version import MAGICK_VERSION

    return str(MAGICK_VERSION).split(" Q")[0].removeprefix("ImageMagick ")


def main(path: str, data: str | None = None) -> None:
    record = compare(Path(path), None if data is None else Path(data))
    (BENCHMARKS / "corruptions.json").write_text(json.dumps(record, indent=1) + "\n")
    for name, row in record["corruptions"].items():
        print(f"{name:18}", *(f"{100 * s['equal']:6.2f} % ({s['most']})" for s in row["severities"]))


if __name__ == "__main__":
    main(*sys.argv[1:])

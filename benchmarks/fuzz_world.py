"""The folder that fuzzed commands work in: a store, images, and files that are no files."""

import io
import json
from functools import partial
from pathlib import Path

import numpy as np

from zerosnet.models import create_model, save_model
from zerosnet.training import Result, RunSpec, Store, recipe

RUN = RunSpec("zerosnet20_opt", "digits", recipe("quick", "digits", epochs=2), 1)


def make_world(root: Path) -> Path:
    """Fill a folder; every command line is run in a copy of it."""
    _make_store(root / "store")
    _make_images(root / "images")
    (root / "file.txt").write_text("no store")
    (root / "damaged.json").write_text('{"grid": ')
    (root / "deep.json").write_text("[" * 100_000)
    (root / "run").symlink_to(f"store/{RUN.id}")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("nowhere")
    (root / "locked").mkdir(mode=0o500)
    return root


def _make_store(root: Path) -> None:
    """Store a finished run, whose network was never trained, and one that has not begun."""
    model = create_model(RUN.model, in_chans=1, seed=1)
    with Store(root).claim(RUN) as run:  # type: ignore[union-attr]
        run.write_environment({"data": None})
        for epoch in (1, 2):
            run.append_metrics({"epoch": epoch, "test_accuracy": 0.1, "test_loss": 2.0})
        result = Result("finished", 2, 0.1, test_accuracy=0.1, test_loss=2.0, best_epoch=1, best_test_accuracy=0.1)
        run.finish(result, partial(save_model, model, facts={"run": RUN.id}))
    attacks = root / RUN.id / "attacks"
    attacks.mkdir()
    row = {"method": "clean", "label": "clean", "accuracy": 0.1, "correct": 10, "images": 100}
    (attacks / "paper-noise.json").write_text(json.dumps({"run": RUN.id, "protocol": "paper-noise", "rows": [row]}))


def _make_images(root: Path) -> None:
    for part in ("train", "test"):
        for label in "ab":
            folder = root / part / label
            folder.mkdir(parents=True)
            for number in range(2):
                (folder / f"{number}.png").write_bytes(picture("PNG", number))


def picture(kind: str, seed: int = 0) -> bytes:
    """Make a small image file of a format that Pillow writes."""
    from PIL import Image

    pixels = np.random.default_rng(seed).integers(0, 256, (12, 10, 3), dtype=np.uint8)
    modes = {"PGM": "L", "I16": "I;16", "BLP": "P", "GIF": "P", "F": "F"}
    formats = {"PGM": "PPM", "I16": "PNG", "F": "TIFF"}
    file, image = io.BytesIO(), Image.fromarray(pixels)
    if kind == "I16":
        image = Image.fromarray((pixels[..., 0].astype(np.uint16) << 8) + 7)
    elif kind in modes:
        image = image.convert(modes[kind])
    image.save(file, formats.get(kind, kind))
    return file.getvalue()

"""The GPU's JPEG decoder and its crops beside those of the processor."""

from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image
from tests.data.pictures import write_folder, write_strange_files
from tests.data.test_gpu_decode import batches, decoder_of

from zerosnet.data.pictures import jpeg_size
from zerosnet.data.streamed import gpu_decode as device_decode
from zerosnet.data.streamed.batches import Stream, training_items
from zerosnet.data.streamed.decode import read_image
from zerosnet.data.streamed.gpu_decode import cut, reason_against
from zerosnet.training.streamed.trainer import check_decoder

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]

CUDA = torch.device("cuda", 0)


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path)


def test_this_gpu_decodes():
    assert reason_against(CUDA) is None
    check_decoder("gpu", CUDA, deterministic=False)


@pytest.mark.parametrize("side", [16, 224, 100])
def test_crops_on_the_gpu_are_those_of_the_processor(side):
    chance = np.random.default_rng(side)
    images, boxes = [], []
    for _ in range(60):
        width, height = chance.integers(1, 700, 2)
        left, top = chance.integers(0, width), chance.integers(0, height)
        box = (left, top, chance.integers(1, width - left + 1), chance.integers(1, height - top + 1))
        images.append(torch.from_numpy(chance.integers(0, 256, (3, height, width)).astype(np.uint8)))
        boxes.append(tuple(int(number) for number in box))
    ours = cut([image.cuda() for image in images], boxes, side)
    difference = (ours.cpu().int() - cut(images, boxes, side).int()).abs()
    assert ours.shape == (60, side, side, 3) and difference.max() <= 1  # the processor rounds after each axis


@pytest.mark.parametrize("workers", [0, 3])
def test_batches_of_the_gpu_are_those_of_the_workers_but_for_rounding(folder, workers):
    write_strange_files(folder)
    decoder, said = decoder_of(folder, 32), [[], []]
    theirs = batches(decoder, False, report=said[0].append, steps=20)
    ours = batches(decoder, True, report=said[1].append, device=CUDA, workers=workers, steps=20)
    assert sorted(said[0]) == sorted(said[1]) and len(ours) == len(theirs) == 20
    for one, other in zip(ours, theirs):
        assert torch.equal(one.flips.cpu(), other.flips) and torch.equal(one.labels.cpu(), other.labels)
        assert (one.images.cpu().float() - other.images.float()).abs().mean() < 4  # of 255; colours are noise here


@pytest.mark.parametrize("kind", ["L", "progressive", "4:4:4", "4:2:2", "4:2:0"])
def test_every_ordinary_kind_of_jpeg_has_its_colours(tmp_path, kind):
    ramp = np.linspace(0, 255, 96)
    pixels = np.stack([np.tile(ramp, (64, 1)), np.tile(ramp[:64, None], (1, 96)), np.full((64, 96), 90)], 2)
    image = Image.fromarray(pixels.astype(np.uint8)).convert("L" if kind == "L" else "RGB")
    options = {"progressive": True} if kind == "progressive" else {"subsampling": kind} if ":" in kind else {}
    image.save(tmp_path / "a.jpg", quality=95, **options)
    content = (tmp_path / "a.jpg").read_bytes()
    assert jpeg_size(content) == (96, 64)
    (found,) = device_decode._decoded([torch.frombuffer(bytearray(content), dtype=torch.uint8)], CUDA)
    assert (found.cpu().float() - read_image(tmp_path / "a.jpg").float()).abs().max() <= 12


def test_busy_streams_do_not_change_what_is_decoded(folder):
    """Memory that the decoder writes to is not read any more: the same batches beside a stream that is never idle."""
    decoder = decoder_of(folder, 64)
    quiet = [batch.images.clone() for batch in batches(decoder, True, device=CUDA, steps=12)]
    items = partial(training_items, 24, seed=1, batch=10, part=(0, 1), micro=10, position=0, steps=12)
    stream = Stream(decoder, items, batch=10, device=CUDA, workers=0, on_device=True, report=pytest.fail)
    square = torch.rand(4096, 4096, device=CUDA)
    for batch, expected in zip(stream, quiet, strict=True):
        for _ in range(4):
            square = (square @ square).clamp_(0, 1)
        assert torch.equal(batch.images, expected)


def test_a_gpu_without_a_decoder_is_recognised(monkeypatch):
    monkeypatch.setattr(device_decode, "_decoded", lambda *_: [None])
    reason_against.cache_clear()
    try:
        assert reason_against(CUDA) == "torchvision has no decoder for it"
    finally:
        reason_against.cache_clear()

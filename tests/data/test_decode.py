import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.data.pictures import write_picture

from zerosnet.data import Augmentation
from zerosnet.data.streamed.decode import BrokenImage, centre_image, random_crop, read_image, training_image

CROP = Augmentation(flip=True, area=(0.1, 1.0), aspect=(0.8, 1.25))


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(0, 10**6))
def test_a_random_crop_lies_inside_the_image(width, height, seed):
    left, top, w, h = random_crop(width, height, CROP, random.Random(seed))
    assert left >= 0 and top >= 0 and w >= 1 and h >= 1
    assert left + w <= width and top + h <= height


@given(st.integers(150, 800), st.integers(150, 800), st.integers(0, 10**6))
def test_area_and_aspect_of_a_crop_are_those_asked_for(width, height, seed):
    _, _, w, h = random_crop(width, height, CROP, random.Random(seed))
    assert 0.8 * 0.95 <= w / h <= 1.25 * 1.05
    if 0.8 <= width / height <= 1.25:  # others may fall back to the largest middle
        assert 0.09 <= w * h / (width * height) <= 1.01


def test_crops_reach_every_place_and_all_of_the_range():
    chance = random.Random(0)
    boxes = np.array([random_crop(500, 400, CROP, chance) for _ in range(2000)])
    shares = boxes[:, 2] * boxes[:, 3] / 200_000
    assert shares.min() < 0.15 and shares.max() > 0.9 and abs(np.mean(shares) - 0.5) < 0.05
    assert boxes[:, 0].min() == 0 and (boxes[:, 0] + boxes[:, 2]).max() == 500


def test_without_an_area_the_whole_image_is_taken():
    assert random_crop(30, 20, Augmentation(), random.Random(0)) == (0, 0, 30, 20)


def test_a_training_image_is_a_function_of_seed_epoch_and_index(tmp_path):
    write_picture(tmp_path / "a.JPEG", 0, 60, 50)
    place = tmp_path / "a.JPEG"
    image, flip = training_image(place, 32, CROP, 1, 2, 3)
    again, flip_again = training_image(place, 32, CROP, 1, 2, 3)
    assert image.shape == (32, 32, 3) and image.dtype == torch.uint8
    assert torch.equal(image, again) and flip == flip_again
    others = [training_image(place, 32, CROP, *key)[0] for key in ((2, 2, 3), (1, 3, 3), (1, 2, 4))]
    assert not any(torch.equal(image, other) for other in others)
    flips = [training_image(place, 8, CROP, 1, 0, index)[1] for index in range(100)]
    assert 30 < sum(flips) < 70


@pytest.mark.parametrize("size", [(300, 256), (256, 400), (224, 224), (100, 70)])
def test_the_centre_crop_is_pillows(size, tmp_path):
    write_picture(tmp_path / "a.JPEG", 1, *size)
    ours = centre_image(tmp_path / "a.JPEG", 224).numpy().astype(int)
    with Image.open(tmp_path / "a.JPEG") as file:
        scale = 256 / min(file.size)
        width, height = (max(256, round(side * scale)) for side in file.size)
        resized = file.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - 224) // 2, (height - 224) // 2
    pillows = np.asarray(resized.crop((left, top, left + 224, top + 224))).astype(int)
    assert ours.shape == (224, 224, 3)
    assert np.abs(ours - pillows).max() <= 3  # two decoders and two resamplers round differently


@pytest.mark.parametrize(("mode", "kind"), [("L", "JPEG"), ("CMYK", "JPEG"), ("RGBA", "PNG"), ("P", "PNG")])
def test_other_modes_and_formats_become_rgb(mode, kind, tmp_path):
    Image.new(mode, (20, 10)).save(tmp_path / "a.JPEG", kind)
    assert read_image(tmp_path / "a.JPEG").shape == (3, 10, 20)


@pytest.mark.parametrize("content", [b"", b"no image", b"\xff\xd8\xff\xe0 nor this"])
def test_a_file_that_is_no_image_is_broken(content, tmp_path):
    (tmp_path / "a.JPEG").write_bytes(content)
    with pytest.raises(BrokenImage):
        read_image(tmp_path / "a.JPEG")


def test_why_a_file_is_no_image_does_not_depend_on_where_it_lay_in_memory(tmp_path):
    (tmp_path / "a.JPEG").write_bytes(b"no image")
    with pytest.raises(BrokenImage, match=r"^cannot identify image file$"):
        read_image(tmp_path / "a.JPEG")


def test_a_truncated_or_missing_file_is_broken(tmp_path):
    write_picture(tmp_path / "a.JPEG", 0, 200, 200)
    whole = (tmp_path / "a.JPEG").read_bytes()
    (tmp_path / "b.JPEG").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BrokenImage, match=r"(?i)truncated|incomplete|corrupted"):
        read_image(tmp_path / "b.JPEG")
    with pytest.raises(BrokenImage, match="No such file"):
        read_image(tmp_path / "c.JPEG")

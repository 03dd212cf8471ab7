import numpy as np
import pytest
from PIL import Image

from zerosnet import InputError
from zerosnet.data import load


def paint(path, colour, size=(40, 32), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)


@pytest.fixture
def pictures(tmp_path):
    for part, count in (("train", 3), ("val", 1)):
        for i in range(count):
            paint(tmp_path / part / "red" / f"{i}.png", (250, 0, 0))
            paint(tmp_path / part / "blue" / "deeper" / f"{i}.JPEG", (0, 0, 250))
    (tmp_path / "train" / "red" / "notes.txt").write_text("not an image")
    return tmp_path


def test_classes_are_numbered_by_name_and_images_have_one_size(pictures):
    data = load("folder", pictures)
    assert data.num_classes == 2 and data.train.images.shape == (6, 3, 32, 32) and len(data.test) == 2
    assert data.train.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.train.images[-1, :, 0, 0].tolist() == [250, 0, 0]


def test_name_and_size_choose_folder_and_resolution(pictures):
    data = load(f"folder:{pictures.name}@16", pictures.parent)
    assert data.size == (16, 16)
    assert data.name == f"folder:{pictures.name}@16"


def test_grey_and_small_images_are_brought_to_the_same_form(pictures):
    paint(pictures / "train" / "red" / "grey.png", 7, size=(5, 9), mode="L")
    image = load("folder@8", pictures).train.images[-1]
    assert image.shape == (3, 8, 8) and image.unique().tolist() == [7]


def test_the_middle_is_cut_out(tmp_path):
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, 2:6] = 255
    for part in ("train", "test"):
        (tmp_path / part / "a").mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / part / "a" / "x.png")
    assert int(load("folder@4", tmp_path).train.images.min()) == 255


@pytest.mark.parametrize("name", ["folder@0", "folder@x", "folder@4096", "folder@²"])
def test_a_bad_size_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="size"):
        load(name, tmp_path)

import os
import re
from pathlib import Path

import pytest
import torch
from tests.data.pictures import CLASSES, write_folder, write_picture

from zerosnet import InputError
from zerosnet.data import load, open_folder, source
from zerosnet.data.registry import parse_name


def test_names_and_labels_follow_imagenets_layout(tmp_path):
    data = open_folder("imagefolder:tiny@64", write_folder(tmp_path / "tiny").parent)
    assert data.classes == CLASSES and data.num_classes == 3 and data.size == (64, 64) and data.in_chans == 3
    assert (len(data.train), len(data.test)) == (24, 15)
    assert data.train.path(9) == tmp_path / "tiny" / "train" / CLASSES[1] / f"{CLASSES[1]}_1.JPEG"
    assert data.test.labels.tolist() == [0] * 5 + [1] * 5 + [2] * 5


def test_a_size_and_a_folder_can_be_part_of_the_name():
    assert parse_name("imagefolder") == ("imagefolder", "", 224)
    assert parse_name("imagefolder:imagenette@160") == ("imagefolder", "imagenette", 160)
    assert source("imagefolder").augmentation.area == (0.1, 1.0)
    assert source("imagefolder").augmentation.aspect == (0.8, 1.25)


def test_a_split_cuts_files_off_the_training_set(tmp_path):
    data = open_folder("imagefolder", write_folder(tmp_path), validation=0.25)
    assert (len(data.train), len(data.validation)) == (18, 6)
    names = {*data.train.names.tolist(), *data.validation.names.tolist()}
    assert len(names) == 24
    assert all(CLASSES[label].encode() in name for name, label in zip(data.train.names, data.train.labels.tolist()))


def test_names_that_are_not_ascii_are_found_again(tmp_path):
    write_folder(tmp_path, train=1, val=1)
    write_picture(tmp_path / "train" / CLASSES[0] / "été 1.jpg", 0, 40, 40)
    data = open_folder("imagefolder", tmp_path)
    assert any(data.train.path(k).name == "été 1.jpg" and data.train.path(k).is_file() for k in range(len(data.train)))


def _no_classes(root: Path) -> None:
    (root / "train").mkdir()
    (root / "val").mkdir()


def _flat(root: Path) -> None:
    write_folder(root)
    for path in (root / "val").glob("*/*"):
        path.rename(root / "val" / path.name)
    for name in CLASSES:
        (root / "val" / name).rmdir()


def _extra(root: Path) -> None:
    write_folder(root)
    write_picture(root / "val" / "n99999999" / "x.JPEG", 0, 40, 40)


def _empty(root: Path) -> None:
    write_folder(root)
    for part in ("train", "val"):
        (root / part / "n00000000").mkdir()


def _untested(root: Path) -> None:
    write_folder(root)
    write_picture(root / "train" / "n99999999" / "x.JPEG", 0, 40, 40)


def _tested_on_nothing(root: Path) -> None:
    _untested(root)
    (root / "val" / "n99999999").mkdir()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: None, "train is not a folder"),
        (_no_classes, "train holds no class folders"),
        (_flat, "val holds no class folders"),
        (_extra, "n99999999 is a class without training images"),
        (_empty, r"train.n00000000 holds no images"),
        (_untested, r"train.n99999999 is a class without test images"),
        (_tested_on_nothing, r"val.n99999999 holds no images"),
    ],
)
def test_a_folder_without_or_with_extra_classes_is_refused(make, message, tmp_path):
    make(tmp_path)
    with pytest.raises(InputError, match=message):
        open_folder("imagefolder", tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
@pytest.mark.parametrize("part", ["train", "val"])
def test_an_image_that_is_no_file_is_named(make, part, tmp_path):
    place = write_folder(tmp_path) / part / CLASSES[1] / "strange.JPEG"
    make(place)
    with pytest.raises(InputError, match=f"^{re.escape(str(place))} is not a regular file"):
        open_folder("imagefolder", tmp_path)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=f"^{re.escape(str(place))} is not a regular file"):
        open_folder("imagefolder", tmp_path)


def test_links_to_images_are_images_and_dangling_links_are_left_to_the_decoder(tmp_path):
    part = write_folder(tmp_path) / "train" / CLASSES[0]
    (part / "link.JPEG").symlink_to(part / f"{CLASSES[0]}_0.JPEG")
    (part / "lost.JPEG").symlink_to(tmp_path / "nowhere")
    assert len(open_folder("imagefolder", tmp_path).train) == 26


def test_it_is_not_read_as_arrays(tmp_path):
    with pytest.raises(InputError, match="too large to be held as arrays"):
        load("imagefolder", write_folder(tmp_path))
    with pytest.raises(InputError, match="expected imagefolder"):
        open_folder("cifar10", tmp_path)


def test_a_subset_keeps_names_and_labels_together(tmp_path):
    files = open_folder("imagefolder", write_folder(tmp_path)).train
    chosen = files.subset(torch.tensor([20, 3]))
    assert chosen.path(0) == files.path(20) and chosen.labels.tolist() == [2, 0]

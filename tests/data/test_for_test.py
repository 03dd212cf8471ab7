from pathlib import Path

import pytest
import torch
from tests.data.pictures import CLASSES, write_folder

from zerosnet.data import load, open_folder
from zerosnet.data.for_test import load_for_test
from zerosnet.data.streamed.decode import centre_image
from zerosnet.errors import InputError


@pytest.mark.parametrize("workers", [0, 2])
def test_a_streamed_set_is_its_centre_crops_in_order(tmp_path: Path, workers: int) -> None:
    write_folder(tmp_path, val=120)  # more than a batch
    data, files = load_for_test("imagefolder@24", tmp_path, workers=workers), open_folder("imagefolder@24", tmp_path)
    assert (len(data.train), len(data.test), data.size, data.num_classes) == (0, 360, (24, 24), 3)
    assert torch.equal(data.test.labels, files.test.labels)
    for index in (0, 255, 256, 359):
        assert torch.equal(data.test.images[index].permute(1, 2, 0), centre_image(files.test.path(index), 24))


def test_files_that_are_no_images_are_left_out_and_named(tmp_path: Path) -> None:
    broken = write_folder(tmp_path) / "val" / CLASSES[1] / f"{CLASSES[1]}_3.JPEG"
    broken.write_bytes(b"no image")
    said: list[str] = []
    test = load_for_test("imagefolder@24", tmp_path, report=said.append).test
    assert test.labels.tolist() == [0] * 5 + [1] * 4 + [2] * 5
    (line,) = said
    assert str(broken) in line
    for path in tmp_path.glob("val/*/*"):
        path.write_bytes(b"")
    with pytest.raises(InputError, match="not one image"):
        load_for_test("imagefolder@24", tmp_path)


def test_other_sets_are_loaded_as_arrays() -> None:
    assert torch.equal(load_for_test("digits").train.images, load("digits").train.images)

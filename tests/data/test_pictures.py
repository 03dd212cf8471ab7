"""Image files of all kinds in `folder` and `imagefolder`: right pixels, or an error that names the file."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from zerosnet import InputError
from zerosnet.data import load
from zerosnet.data.pictures import decode_picture
from zerosnet.data.streamed.decode import BrokenImage, read_image

LEVELS = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)  # v * 257 in 16 bits is v in 8


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for part in ("train", "test"):
        for name in ("a", "b"):
            (tmp_path / part / name).mkdir(parents=True)
            Image.new("RGB", (16, 16), (9, 9, 9)).save(tmp_path / part / name / "0.png")
    return tmp_path


@pytest.mark.parametrize("name", ["x.png", "x.tif"])
def test_grey_levels_of_16_bits_become_those_of_8(name: str, pictures: Path) -> None:
    path = pictures / "train" / "a" / name
    Image.fromarray(LEVELS).save(path)
    expected = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert np.array_equal(np.asarray(decode_picture(path.read_bytes()))[:, :, 1], expected)
    assert np.array_equal(read_image(path)[2].numpy(), expected)
    assert np.array_equal(load("folder@16", pictures).train.images[1, 0].numpy(), expected)


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_pixels_without_a_known_range_are_refused(kind: type, pictures: Path) -> None:
    path = pictures / "train" / "b" / "wide.tiff"
    Image.fromarray(LEVELS.astype(kind)).save(path)
    with pytest.raises(InputError, match=r"train.b.wide\.tiff cannot be decoded .*expected 8 or 16 bits"):
        load("folder", pictures)
    with pytest.raises(BrokenImage, match="expected 8 or 16 bits"):
        read_image(path)


@pytest.mark.parametrize("kind", ["AVIF", "DDS", "BLP", "TIFF", "WEBP", "GIF", "PPM"])
def test_a_damaged_file_of_any_format_is_named(kind: str, pictures: Path) -> None:
    path = pictures / "train" / "a" / "0.png"
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (16, 16, 3), np.uint8))
    try:
        (image.quantize() if kind == "BLP" else image).save(path, format=kind)
    except (KeyError, OSError):
        pytest.skip(f"this Pillow writes no {kind}")
    whole = path.read_bytes()
    for cut in range(1, len(whole), max(1, len(whole) // 60)):
        for content in (whole[:cut], whole[: cut - 1] + bytes([whole[cut - 1] ^ 0xFF]) + whole[cut:]):
            path.write_bytes(content)
            try:
                load("folder", pictures)
            except InputError as error:
                assert f"{path} cannot be decoded" in str(error)
            try:
                read_image(path)
            except BrokenImage as reason:
                assert str(reason)


def test_a_link_that_leads_nowhere_is_named(pictures: Path) -> None:
    (pictures / "train" / "a" / "1.png").symlink_to("nothing.png")
    with pytest.raises(InputError, match=r"train.a.1\.png cannot be decoded .*No such file"):
        load("folder", pictures)


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_class_without_images_is_named(part: str, pictures: Path) -> None:
    (pictures / part / "b" / "0.png").rename(pictures / part / "b" / "0.txt")
    with pytest.raises(InputError, match=rf"{part}.b holds no images"):
        load("folder", pictures)

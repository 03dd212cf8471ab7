"""Image files of all kinds: right pixels, the size of a JPEG, or an error that names the file."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from zerosnet import InputError
from zerosnet.data import load
from zerosnet.data.pictures import decode_picture, jpeg_size
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


def written(width: int, height: int, mode: str = "RGB", **options: object) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 4)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels, "RGBA").convert("RGB").convert(mode).save(buffer, "JPEG", **options)
    return buffer.getvalue()


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(["RGB", "L"]), st.booleans())
def test_the_size_is_read_from_the_header(width, height, mode, progressive):
    assert jpeg_size(written(width, height, mode, progressive=progressive)) == (width, height)


def test_a_header_with_much_else_in_it():
    thumbnail = written(20, 10)
    picture = written(70, 50, exif=b"Exif\0\0" + thumbnail, comment=b"\xff\xc0 no frame", icc_profile=bytes(3000))
    assert jpeg_size(picture) == (70, 50)
    assert jpeg_size(picture + bytes(1000)) == (70, 50)
    assert jpeg_size(picture[:2] + b"\xff\xff\xff" + picture[3:]) == (70, 50)  # filling before a marker


@pytest.mark.parametrize("content", [b"", b"no image", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0\xff\xff\xff\xd9"])
def test_what_is_no_jpeg_has_no_size(content):
    assert jpeg_size(content) is None


def test_what_is_not_ordinary_has_no_size():
    picture = written(30, 20)
    frame = picture.index(b"\xff\xc0")
    assert jpeg_size(written(30, 20, "CMYK")) is None
    assert jpeg_size(written(30, 20, keep_rgb=True)) is None  # colours that are not transformed
    assert jpeg_size(picture[:frame] + b"\xff\xc9" + picture[frame + 2 :]) is None  # arithmetic coding
    assert jpeg_size(picture[: frame + 4] + b"\x0c" + picture[frame + 5 :]) is None  # twelve bits
    adobe = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"
    assert jpeg_size(picture[:2] + adobe + b"\x00" + picture[2:]) is None
    assert jpeg_size(picture[:2] + adobe + b"\x01" + picture[2:]) == (30, 20)


def test_what_is_cut_off_has_no_size():
    picture = written(60, 40)
    assert all(jpeg_size(picture[:end]) is None for end in range(len(picture) - 1))
    with_thumbnail = written(60, 40, exif=b"Exif\0\0" + written(20, 10))
    assert all(jpeg_size(with_thumbnail[:end]) is None for end in range(len(with_thumbnail) - 1))

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from zerosnet.data.pictures import jpeg_size


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

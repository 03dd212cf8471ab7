"""Decode image files of any format to 8-bit RGB, and read the header of a JPEG file without decoding it."""

import io
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image


SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-fA-F]+>")  # of a buffer, in Pillow's messages: never the same twice
WIDE = {"I": "32-bit integers", "F": "floating-point numbers"}


def decode_picture(content: bytes) -> "Image":
    """Decode the content of an image file to RGB with Pillow, grey levels of 16 bits included.

    Raises:
        ValueError: If it is no image, a truncated one, or one whose pixels have an unknown range. All errors of
            decoders become this one.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as file:
            return _to_rgb(file)
    except Exception as error:
        text = " ".join(_ADDRESS.sub("", str(error)).split())
        raise ValueError(text or type(error).__name__) from None


def _to_rgb(image: "Image") -> "Image":
    """Turn pixels of any mode into RGB; Pillow itself would cut 16 bits off at 255."""
    from PIL import Image

    if image.mode in SIXTEEN_BITS or (image.mode == "I" and image.format == "PNG"):
        levels = np.asarray(image).astype(np.uint32)
        image = Image.fromarray(((levels + 128) // 257).astype(np.uint8))
    elif image.mode in WIDE:
        raise ValueError(f"its pixels are {WIDE[image.mode]}; expected 8 or 16 bits")
    return image.convert("RGB")


BEGINNING, END = b"\xff\xd8\xff", b"\xff\xd9"
TAIL = 1024  # the image must end within that many bytes of the file's end; cameras add bytes of their own
FRAMES = (0xC0, 0xC1, 0xC2)  # markers before the size of an image: baseline, extended, progressive
OTHER_FRAMES = {*range(0xC3, 0xD0)} - {0xC4, 0xC8, 0xCC}  # lossless, hierarchical, arithmetic coding
ALONE = {0x01, *range(0xD0, 0xD8)}  # markers without a length
ADOBE = 0xEE


def jpeg_size(content: bytes) -> tuple[int, int] | None:
    """Read (width, height) of an ordinary JPEG: eight bits, grey or YCbCr; None if a file is not one, or cut off."""
    if not content.startswith(BEGINNING):
        return None
    at, transformed = 2, True
    while at + 16 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # filling
            at += 1
        elif marker in ALONE:
            at += 2
        elif marker in FRAMES:
            return (
                _size(content[at + 4 : at + 16], transformed)
                if END in content[max(at, len(content) - TAIL) :]
                else None
            )
        elif marker in OTHER_FRAMES:
            return None
        else:
            if marker == ADOBE and content[at + 4 : at + 9] == b"Adobe":
                transformed = content[at + 15] == 1
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None


def _size(frame: bytes, transformed: bool) -> tuple[int, int] | None:
    """Read a frame header: precision, height, width, number of components, and three bytes for each of them."""
    height, width = (int.from_bytes(frame[k : k + 2], "big") for k in (1, 3))
    colours, names = frame[5], frame[6:12:3]
    ordinary = colours == 1 or (colours == 3 and transformed and names != b"RG")  # components R and G: no YCbCr
    return (width, height) if frame[0] == 8 and width and height and ordinary else None

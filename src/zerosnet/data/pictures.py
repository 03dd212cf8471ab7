"""Decode image files of any format to 8-bit RGB, for all data sets that are folders of images."""

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

"""What the header of a JPEG file says, without decoding it."""

BEGINNING, END = b"\xff\xd8\xff", b"\xff\xd9"
TAIL = 1024  # bytes at the end of a file among which the image's end must be: cameras add some of their own
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # markers before the size of an image
ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a length
COLOURS = (1, 3)  # components: grey, or three colours; four are for printing


def jpeg_size(content: bytes) -> tuple[int, int] | None:
    """(width, height) of an image of one or three colours; None where a file is no JPEG, or not all of one."""
    if not content.startswith(BEGINNING) or END not in content[-TAIL:]:
        return None
    at = 2
    while at + 10 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # filling
            at += 1
        elif marker in ALONE:
            at += 2
        elif marker in FRAMES:
            height, width = (int.from_bytes(content[at + k : at + k + 2], "big") for k in (5, 7))
            return (width, height) if width and height and content[at + 9] in COLOURS else None
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None

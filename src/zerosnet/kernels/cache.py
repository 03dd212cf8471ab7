"""What was compiled, kept on disk by everything that it depends on."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from zerosnet.files import cache_folder, read_bytes, write_bytes

_CHECK = sha256().digest_size


def remembered(key: str, make: Callable[[], bytes]) -> bytes:
    """Return what was made for a key before, on this machine, or make it and keep it.

    An entry begins with the checksum of its content: a damaged one is made anew. Entries are written in one move, so
    that processes may do it at the same time. A folder that cannot be written keeps nothing.
    """
    folder = cache_folder("kernels")
    if folder is None:
        return make()
    path = folder / f"{sha256(key.encode()).hexdigest()[:32]}.bin"
    try:
        entry = read_bytes(path)
    except OSError:
        entry = b""
    check, content = entry[:_CHECK], entry[_CHECK:]
    if content and sha256(content).digest() == check:
        return content
    content = make()
    with suppress(OSError):
        write_bytes(path, sha256(content).digest() + content)
    return content

"""What was compiled, kept on disk by everything that it depends on."""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from zerosnet.files import write_bytes

FOLDER = "ZEROSNET_CACHE"  # names another folder; empty: nothing is kept
_CHECK = sha256().digest_size


def cache_folder() -> Path | None:
    """Find the folder of compiled kernels: in $ZEROSNET_CACHE, or in the user's cache; None to keep nothing."""
    given = os.environ.get(FOLDER)
    if given is not None:
        return Path(given) / "kernels" if given else None
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return None
    return base / "zerosnet" / "kernels"


def remembered(key: str, make: Callable[[], bytes]) -> bytes:
    """Return what was made for a key before, on this machine, or make it and keep it.

    An entry begins with the checksum of its content: a damaged one is made anew. Entries are written in one move, so
    that processes may do it at the same time. A folder that cannot be written keeps nothing.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{sha256(key.encode()).hexdigest()[:32]}.bin"
    try:
        entry = path.read_bytes()
    except OSError:
        entry = b""
    check, content = entry[:_CHECK], entry[_CHECK:]
    if content and sha256(content).digest() == check:
        return content
    content = make()
    with suppress(OSError):
        write_bytes(path, sha256(content).digest() + content)
    return content

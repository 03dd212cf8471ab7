"""Data sets as they were read from official files, kept on disk: the next training reads plain arrays.

An entry records the files that it was made from, with their sizes, times and inodes: files that were touched or
replaced, even by others of the same size and time, are read and checked anew. It also records the fingerprint of its
images. Every run needs the fingerprint, so the check is free.
"""

import json
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from zerosnet.data.dataset import DataSet, ImageSet
from zerosnet.errors import InputError
from zerosnet.files import cache_folder, is_file, make_folder, temporary_file

LEAST = 16 * 2**20  # bytes of all files: fewer are read as fast as an entry
_FORMAT = 1
_ABANDONED = 3600  # seconds after which a half-written file is nobody's
_PARTS = ("train.images", "train.labels", "test.images", "test.labels")


def remembered(
    name: str,
    files: Sequence[Path],
    read: Callable[[], tuple[ImageSet, ImageSet]],
    make: Callable[[ImageSet, ImageSet], DataSet],
    fingerprint: str | None = None,
) -> DataSet:
    """Make a data set of what was read from these files before, or read them and keep it.

    A damaged entry is replaced. Entries are written in one move, so that processes may do it at the same time. A folder
    that cannot be written keeps nothing.

    Args:
        name: The name of the data set, part of the entry's name.
        files: All files that `read` reads.
        read: Reads and checks training and test set.
        make: Makes the data set of both.
        fingerprint: That of the data set, if it is known: an entry with another one is not believed.
    """
    folder, origin = cache_folder("data"), _origin(files)
    if folder is None or origin is None:
        return make(*read())
    path = folder / f"{name}-{sha256(origin[0].encode()).hexdigest()[:16]}.safetensors"
    try:
        if not is_file(path):  # opening a pipe might never return
            raise FileNotFoundError
        with safe_open(path, "pt") as entry:
            known = entry.metadata() or {}
            if known.get("origin") == origin[1]:
                tensors = [entry.get_tensor(part).clone() for part in _PARTS]  # the file may go while they are used
                data = make(ImageSet(*tensors[:2]), ImageSet(*tensors[2:]))
                if data.fingerprint == (fingerprint or known.get("fingerprint")):
                    return data
    except (OSError, SafetensorError, InputError):
        pass
    data = make(*read())
    if _origin(files) != origin:  # replaced while they were read
        return data
    with suppress(OSError, SafetensorError):
        _keep(path, data, {"origin": origin[1], "fingerprint": data.fingerprint})
    return data


def _origin(files: Sequence[Path]) -> tuple[str, str] | None:
    """Describe files: where they are, and their status too; None if one is missing, or if they are small."""
    try:
        facts = [(str(path.absolute()), path.stat()) for path in files]
    except (OSError, ValueError):
        return None
    if sum(status.st_size for _, status in facts) < LEAST:
        return None
    places = [name for name, _ in facts]
    # the time of the last change of the inode is the one that cp -p, tar and touch cannot set
    listed = [[name, one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino] for name, one in facts]
    return json.dumps(places), json.dumps([_FORMAT, listed])


def _keep(path: Path, data: DataSet, facts: dict[str, str]) -> None:
    """Write an entry. It is not flushed to the disk: one that a power cut damages is replaced."""
    make_folder(path.parent)
    _remove_abandoned(path.parent)
    _remove_orphans(path)
    temporary = temporary_file(path)
    tensors = (data.train.images, data.train.labels, data.test.images, data.test.labels)
    try:
        temporary.touch()
        mode = stat.S_IMODE(temporary.stat().st_mode)
        save_file(dict(zip(_PARTS, tensors)), temporary, facts)  # by way of another file, for its owner alone
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed writers have left, whether it has our name or that of safetensors."""
    for path in folder.glob(".*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()


def _remove_orphans(path: Path) -> None:
    """Remove entries of the same data set whose files are all gone, such as those of a temporary folder."""
    for other in filter(is_file, path.parent.glob(f"{path.stem.rpartition('-')[0]}-*{path.suffix}")):
        with suppress(OSError, SafetensorError, ValueError, LookupError, TypeError):
            with safe_open(other, "pt") as entry:
                listed = json.loads((entry.metadata() or {})["origin"])[1]
            if not any(Path(place).exists() for place, *_ in listed):
                other.unlink()

"""A folder that nothing can be written into, whoever runs the tests."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """By its permissions; root, who may write in spite of them, mounts it read-only, where that is allowed."""
    if os.geteuid():
        places = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        for place in places:
            place.chmod(0o500)
        try:
            yield
        finally:
            for place in places:
                place.chmod(0o700)
        return
    for options in (["--bind", str(folder)], ["-o", "remount,ro,bind"]):
        try:
            done = subprocess.run(["mount", *options, str(folder)], capture_output=True, timeout=60)
        except OSError:
            pytest.skip("no mount command")
        if done.returncode:
            subprocess.run(["umount", str(folder)], capture_output=True, timeout=60)
            pytest.skip("mounting a file system is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=60)  # even where a file is still open

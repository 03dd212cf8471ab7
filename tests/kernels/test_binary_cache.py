"""Compiled kernels on disk: made once, checked when read, and never in the way."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from zerosnet.kernels.cache import remembered


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def unwanted() -> bytes:
    raise AssertionError("made again")


def test_an_entry_is_made_once(folder):
    assert remembered("key", lambda: b"binary") == b"binary"
    assert remembered("key", unwanted) == b"binary"
    assert remembered("other key", lambda: b"other") == b"other"


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_is_made_anew(folder, damage):
    remembered("key", lambda: b"binary")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"!" if damage is None else damage)
    assert remembered("key", lambda: b"binary") == b"binary"
    assert remembered("key", unwanted) == b"binary"


def test_threads_may_make_the_same_entry(folder):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: remembered("key", lambda: b"x" * 100_000), range(32)))
    assert set(found) == {b"x" * 100_000} and len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path / "file"))
    assert remembered("key", lambda: b"binary") == b"binary"


def test_an_empty_folder_name_keeps_nothing(monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", "")
    assert remembered("key", lambda: b"binary") == b"binary" and remembered("key", lambda: b"new") == b"new"

"""Data sets on disk: read once, checked when used again, and never in the way."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from zerosnet import InputError
from zerosnet.data import DataSet, ImageSet, load
from zerosnet.data.arrays import cache, published
from zerosnet.data.arrays.cache import remembered
from zerosnet.data.registry import SOURCES
from zerosnet.files import cache_folder


class Reader:
    """A reader that counts its calls; its images are the bytes of two files."""

    def __init__(self, root: Path) -> None:
        self.files, self.calls = [root / "train", root / "test"], 0
        for number, path in enumerate(self.files):
            path.write_bytes(bytes(range(number, number + 48)))

    def read(self) -> tuple[ImageSet, ImageSet]:
        self.calls += 1
        train, test = (torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8) for path in self.files)
        return ImageSet(train.reshape(3, 1, 4, 4), torch.arange(3)), ImageSet(test.reshape(3, 1, 4, 4), torch.arange(3))

    def __call__(self) -> DataSet:
        return remembered("small", self.files, self.read, self.made)

    @staticmethod
    def made(train: ImageSet, test: ImageSet) -> DataSet:
        return DataSet("small", train, test, 10, (0.5,), (0.5,))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "LEAST", 0)
    return tmp_path / "cache" / "data"


@pytest.fixture
def reader(tmp_path, folder):
    return Reader(tmp_path)


def test_files_are_read_once(reader):
    first, again = reader(), reader()
    assert reader.calls == 1
    assert torch.equal(first.train.images, again.train.images) and torch.equal(first.test.labels, again.test.labels)
    assert first.fingerprint == again.fingerprint == reader.made(*reader.read()).fingerprint


def test_files_that_were_touched_are_read_again_and_replace_the_entry(reader, folder):
    reader()
    reader.files[0].write_bytes(bytes(48))
    os.utime(reader.files[0], ns=(1, 1))
    assert int(reader().train.images.max()) == 0 and reader.calls == 2
    reader()
    assert reader.calls == 2 and len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("how", ["in place", "by a move", "behind a link"])
def test_files_replaced_by_others_of_the_same_size_and_time_are_read_again(reader, tmp_path, how):
    path, status = reader.files[0], reader.files[0].stat()
    if how == "behind a link":
        path.symlink_to(path.rename(tmp_path / "first"))
    reader()
    time.sleep(0.05)  # the clock of a file system ticks every few milliseconds
    new = path if how == "in place" else tmp_path / "new"
    new.write_bytes(bytes(48))
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    if how == "by a move":
        new.replace(path)
    elif how == "behind a link":
        path.unlink()
        path.symlink_to(new)
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert int(reader().train.images.max()) == 0 and reader.calls == 2


def test_files_replaced_while_they_are_read_are_not_kept(reader, folder, monkeypatch):
    def read():
        os.utime(reader.files[0], ns=(1, 1))
        return Reader.read(reader)

    monkeypatch.setattr(reader, "read", read)
    reader()
    assert not folder.exists()


@pytest.mark.parametrize(
    "damage", [lambda old: b"", lambda old: old[:-1], lambda old: old[:-1] + b"!", lambda old: b"x"]
)
def test_a_damaged_entry_is_replaced(reader, folder, damage):
    whole = reader().fingerprint
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert reader().fingerprint == whole and reader.calls == 2
    assert reader().fingerprint == whole and reader.calls == 2


def test_a_pipe_in_place_of_an_entry_is_replaced(reader, folder):
    reader()
    (path,) = folder.iterdir()
    path.unlink()
    os.mkfifo(path)
    reader()
    assert reader.calls == 2 and path.is_file()


def test_an_entry_can_be_read_by_those_who_can_read_other_files(reader, folder, tmp_path):
    reader()
    (path,) = folder.iterdir()
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_killed_writers_have_left_is_removed(reader, folder):
    folder.mkdir(parents=True)
    left = [folder / name for name in (".tmpAbCdEf", ".small-0.1-2.tmp.safetensors", ".tmpFedCba")]
    for path in left:
        path.write_bytes(b"half")
    for path in left[:2]:
        os.utime(path, (1, 1))
    reader()
    assert [path.exists() for path in left] == [False, False, True]


def test_several_may_keep_the_same_entry_at_once(reader, folder):
    with ThreadPoolExecutor(8) as pool:
        found = {data.fingerprint for data in pool.map(lambda _: reader(), range(32))}
    assert len(found) == 1 and len(list(folder.iterdir())) == 1


def test_two_folders_have_an_entry_each(reader, tmp_path, folder):
    (tmp_path / "other").mkdir()
    other = Reader(tmp_path / "other")
    reader(), other(), reader(), other()
    assert (reader.calls, other.calls) == (1, 1) and len(list(folder.iterdir())) == 2


def test_an_entry_whose_files_are_gone_is_removed_when_another_is_written(reader, tmp_path, folder):
    for name in ("kept", "gone", "last"):
        (tmp_path / name).mkdir()
        if name == "last":
            shutil.rmtree(tmp_path / "gone")
            (folder / "small-0.safetensors").write_bytes(b"damaged")
            (folder / "other-0.safetensors").write_bytes(b"not ours")
        Reader(tmp_path / name)()
    places = "".join(path.read_bytes().decode("latin1") for path in folder.iterdir())
    assert [f"/{name}/train" in places for name in ("kept", "gone", "last")] == [True, False, True]
    assert len(list(folder.iterdir())) == 4


def test_images_outlive_their_entry(reader, folder):
    reader()
    kept = reader()
    (path,) = folder.iterdir()
    path.write_bytes(b"")
    assert reader.calls == 1 and int(kept.train.images[0, 0, 0, 3]) == 3


@pytest.mark.parametrize("why", ["small files", "a file in place of the folder", "no cache wanted", "a missing file"])
def test_nothing_is_kept_if_it_cannot_be_or_need_not_be(reader, folder, tmp_path, monkeypatch, why):
    if why == "small files":
        monkeypatch.setattr(cache, "LEAST", 1000)
    elif why == "a file in place of the folder":
        folder.parent.touch()
    elif why == "no cache wanted":
        monkeypatch.setenv("ZEROSNET_CACHE", "")
    else:
        reader.files.append(tmp_path / "missing")
        monkeypatch.setattr(reader, "read", lambda: Reader.read(Reader(tmp_path)))
    assert reader().fingerprint == reader().fingerprint
    assert not folder.exists()


def test_the_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ZEROSNET_CACHE", raising=False)
    assert cache_folder("data") == tmp_path / "zerosnet" / "data"
    monkeypatch.setenv("ZEROSNET_CACHE", "")
    assert cache_folder("data") is None


def test_every_data_set_with_published_files_lists_them():
    assert set(published.FILES) == set(published.READERS) <= set(SOURCES)
    for name, reads in published.FILES.items():
        assert len(reads) == len(set(reads)) == {"cifar10": 6, "cifar100": 2}.get(name, 4)


def test_a_loaded_data_set_is_kept(tmp_path, folder, monkeypatch):
    source = Reader(tmp_path)
    monkeypatch.setitem(published.FILES, "mnist", [path.name for path in source.files])
    monkeypatch.setitem(published.READERS, "mnist", lambda root: source.read())
    monkeypatch.delitem(published.FINGERPRINTS, "mnist")
    first, again = load("mnist", tmp_path), load("mnist", tmp_path, validation=0.4)
    assert source.calls == 1 and first.num_classes == 10 and first.mean == SOURCES["mnist"].mean
    assert len(again.train) == 2 and again.validation is not None and len(again.validation) == 1


def test_a_download_is_asked_for_only_if_a_file_is_missing_or_damaged(tmp_path, folder, monkeypatch):
    source, fetched = Reader(tmp_path), []

    def read(root):
        if source.files[0].read_bytes() == b"damaged":
            raise InputError("damaged")
        return source.read()

    def mend(root, train, download):
        fetched.append(train)
        source.files[not train].write_bytes(bytes(48))

    monkeypatch.setitem(published.FILES, "mnist", [path.name for path in source.files])
    monkeypatch.setitem(published.READERS, "mnist", read)
    monkeypatch.delitem(published.FINGERPRINTS, "mnist")
    monkeypatch.setattr("torchvision.datasets.MNIST", mend)
    for _ in range(2):
        load("mnist", tmp_path, download=True)
    assert (source.calls, fetched) == (1, [])
    source.files[1].unlink()
    load("mnist", tmp_path, download=True)
    assert (source.calls, fetched) == (2, [True, False])
    source.files[0].write_bytes(b"damaged")
    load("mnist", tmp_path, download=True)
    assert (source.calls, fetched) == (3, [True, False] * 2)


def test_an_entry_that_is_not_the_known_data_set_is_not_believed(reader, folder):
    """Such as that of an older version with a mistake in its reader."""
    whole = reader().fingerprint
    (path,) = folder.iterdir()
    with safe_open(path, "pt") as entry:
        facts, tensors = entry.metadata(), {part: entry.get_tensor(part).clone() for part in cache._PARTS}
    tensors["train.labels"] = tensors["train.labels"].flip(0)
    wrong = Reader.made(*(ImageSet(tensors[f"{one}.images"], tensors[f"{one}.labels"]) for one in ("train", "test")))
    save_file(tensors, path, facts | {"fingerprint": wrong.fingerprint})
    found = [remembered("small", reader.files, reader.read, reader.made, whole) for _ in range(2)]
    assert [one.fingerprint for one in found] == [whole, whole] and reader.calls == 2

import hashlib
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from zerosnet import InputError
from zerosnet.data import load
from zerosnet.data.arrays.published import CIFAR10, CifarLayout, read_cifar

REAL = os.environ.get("ZEROSNET_DATA")


def write_batch(path: Path, seed: int, count: int = 3) -> str:
    """A small file in the official format; returns its MD5."""
    rng = np.random.default_rng(seed)
    batch = {"data": rng.integers(0, 256, (count, 3072), dtype=np.uint8), "labels": rng.integers(0, 10, count).tolist()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(batch, protocol=2))
    return hashlib.md5(path.read_bytes()).hexdigest()


@pytest.fixture
def small(tmp_path):
    folder = tmp_path / "small"
    train = {f"data_batch_{i}": write_batch(folder / f"data_batch_{i}", i) for i in (1, 2)}
    test = {"test_batch": write_batch(folder / "test_batch", 3)}
    return tmp_path, CifarLayout("small", "labels", train, test)


def test_batches_are_joined_in_order_and_shaped(small):
    root, layout = small
    train, test = read_cifar(root, layout)
    assert train.images.shape == (6, 3, 32, 32) and test.images.shape == (3, 3, 32, 32)
    first = np.random.default_rng(1).integers(0, 256, (3, 3072), dtype=np.uint8)
    assert np.array_equal(train.images[:3].numpy().reshape(3, -1), first)


class Trap:
    """Something that leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_a_foreign_file_is_refused_before_it_is_unpickled(small, tmp_path):
    root, layout = small
    mark = tmp_path / "unpickled"
    (root / "small" / "data_batch_2").write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(
        InputError, match=r"data_batch_2 is damaged or not the official file.*expected " + "[0-9a-f]{32}"
    ):
        read_cifar(root, layout)
    assert not mark.exists()


def test_a_truncated_file_is_named(small):
    root, layout = small
    path = root / "small" / "test_batch"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="test_batch is damaged"):
        read_cifar(root, layout)


def test_a_missing_file_is_named_and_nothing_is_downloaded(tmp_path):
    with pytest.raises(InputError, match=r"cifar-10-batches-py.data_batch_1 is missing.*--download"):
        load("cifar10", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_a_file_is_a_clear_error(tmp_path):
    (tmp_path / CIFAR10.folder / "data_batch_1").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be read"):
        load("cifar10", tmp_path)


@pytest.mark.skipif(not REAL, reason="set ZEROSNET_DATA to a folder with the official files")
@pytest.mark.parametrize(("name", "classes"), [("cifar10", 10), ("cifar100", 100)])
def test_the_real_files_agree_with_torchvision_and_with_the_constants(name, classes):
    from torchvision import datasets

    data = load(name, REAL)
    assert data.num_classes == classes and data.test.labels.bincount().unique().tolist() == [10_000 // classes]
    theirs = getattr(datasets, name.upper())(REAL, train=True, download=False)
    assert np.array_equal(theirs.data.transpose(0, 3, 1, 2), data.train.images.numpy())
    assert theirs.targets == data.train.labels.tolist()
    pixels = theirs.data.reshape(-1, 3).astype(np.float64) / 255
    np.testing.assert_allclose(data.mean, pixels.mean(0), atol=6e-5)
    np.testing.assert_allclose(data.std, pixels.std(0), atol=6e-5)

"""Digits, MNIST, Fashion-MNIST and CIFAR from their files, damaged ones included."""

import hashlib
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.trap import Trap

from zerosnet import InputError
from zerosnet.data import load
from zerosnet.data.arrays.published import CIFAR10, FASHION_MNIST, MNIST, CifarLayout, IdxLayout, read_cifar, read_idx
from zerosnet.data.dataset import _table


@pytest.mark.parametrize(
    ("name", "counts", "shape", "digest"),
    [
        ("digits", (1442, 355), (10, 1, (8, 8)), "5c95c1724a02cbb6"),
        ("mosaics", (6000, 1000), (8, 3, (8, 8)), "058cbcbcb58bb138"),
    ],
)
def test_embedded_data_need_no_files_and_keep_their_split_for_good(name, counts, shape, digest):
    data = load(name)
    assert (len(data.train), len(data.test)) == counts
    assert (data.num_classes, data.in_chans, data.size) == shape
    content = data.test.images.numpy().tobytes() + data.test.labels.numpy().tobytes()
    assert hashlib.blake2b(content, digest_size=8).hexdigest() == digest


def test_every_digit_is_split_four_to_one():
    data = load("digits")
    train, test = (torch.bincount(part.labels, minlength=10) for part in (data.train, data.test))
    assert torch.equal(test, (train + test) // 5)


@pytest.mark.parametrize("name", ["digits", "mosaics"])
def test_statistics_are_those_of_the_training_pixels(name):
    data = load(name)
    pixels = data.train.images.double() / 255
    assert pixels.mean((0, 2, 3)).tolist() == pytest.approx(data.mean, abs=1e-4)
    assert pixels.std((0, 2, 3)).tolist() == pytest.approx(data.std, abs=1e-4)
    assert int(data.train.images.max()) == 255


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    source = load_digits()
    assert (_table()[:, :-1] == source.data).all() and (_table()[:, -1] == source.target).all()


REAL = os.environ.get("ZEROSNET_DATA")
SMALL = IdxLayout(folder="raw", train=5, test=2, size=(3, 4))


def idx(array: np.ndarray) -> bytes:
    header = (0x800 + array.ndim, *array.shape)
    return b"".join(n.to_bytes(4, "big") for n in header) + array.astype(np.uint8).tobytes()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "raw").mkdir()
    rng = np.random.default_rng(0)
    for split, count in (("train", 5), ("t10k", 2)):
        (tmp_path / f"raw/{split}-images-idx3-ubyte").write_bytes(idx(rng.integers(0, 256, (count, 3, 4))))
        (tmp_path / f"raw/{split}-labels-idx1-ubyte").write_bytes(idx(np.arange(count)))
    return tmp_path


def test_idx_files_are_read_as_written(root):
    train, test = read_idx(root, SMALL)
    expected = np.random.default_rng(0).integers(0, 256, (5, 3, 4))
    assert np.array_equal(train.images[:, 0].numpy(), expected)
    assert train.images.shape == (5, 1, 3, 4) and test.labels.tolist() == [0, 1]


def test_a_truncated_file_is_named_with_its_sizes(root):
    path = root / "raw/train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte has 75 bytes; expected 76 \(5 x 3 x 4"):
        read_idx(root, SMALL)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b compressed", b"\0" * 76])
def test_another_file_is_refused(root, content):
    (root / "raw/t10k-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(InputError, match="t10k-images-idx3-ubyte does not begin like an idx file of 2 x 3 x 4"):
        read_idx(root, SMALL)


def test_the_file_of_another_data_set_is_recognised_by_its_md5(root):
    known = IdxLayout(folder="raw", train=5, test=2, size=(3, 4), md5={"train-images-idx3-ubyte": "0" * 32})
    with pytest.raises(InputError, match="train-images-idx3-ubyte is not the official file"):
        read_idx(root, known)


@pytest.mark.parametrize("name", MNIST.md5)
def test_a_file_of_another_data_set_in_a_folder_without_known_sums_is_refused(root, name):
    content = (root / "raw" / name).read_bytes()
    swapped = replace(SMALL, foreign={hashlib.md5(content).hexdigest(): "MNIST's own file"})
    with pytest.raises(InputError, match=f"{name} is MNIST's own file .*expected this data set's"):
        read_idx(root, swapped)


def test_mnist_is_foreign_to_fashion_mnist():
    assert FASHION_MNIST.foreign == {md5: f"MNIST's {name}" for name, md5 in MNIST.md5.items()}
    assert len(FASHION_MNIST.foreign) == 4


@pytest.mark.skipif(not REAL, reason="set ZEROSNET_DATA to a folder with the official files")
def test_real_mnist_is_not_taken_for_fashion_mnist(tmp_path):
    (tmp_path / "FashionMNIST").mkdir()
    (tmp_path / FASHION_MNIST.folder).symlink_to(Path(REAL or "").resolve() / MNIST.folder)
    with pytest.raises(InputError, match=r"is MNIST's train-images-idx3-ubyte .*expected this data set's own"):
        load("fashion-mnist", tmp_path)


def test_a_label_that_no_class_has_is_refused(root):
    (root / "raw/t10k-labels-idx1-ubyte").write_bytes(idx(np.array([3, 200])))
    with pytest.raises(InputError, match="holds label 200"):
        read_idx(root, SMALL)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_missing_files_are_named(tmp_path, name):
    with pytest.raises(InputError, match=r"MNIST/raw/train-images-idx3-ubyte is missing"):
        load(name, tmp_path)


@pytest.mark.skipif(not REAL, reason="set ZEROSNET_DATA to a folder with the official files")
def test_real_mnist_agrees_with_torchvision_and_with_the_constants():
    from torchvision.datasets import MNIST

    data = load("mnist", REAL)
    theirs = MNIST(REAL, train=True, download=False)
    assert np.array_equal(theirs.data.numpy(), data.train.images[:, 0].numpy())
    pixels = theirs.data.double() / 255
    assert abs(float(pixels.mean()) - data.mean[0]) < 6e-5 and abs(float(pixels.std()) - data.std[0]) < 6e-5


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

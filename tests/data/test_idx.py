import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zerosnet import InputError
from zerosnet.data import load
from zerosnet.data.arrays.published import FASHION_MNIST, MNIST, IdxLayout, read_idx

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


def test_the_file_of_another_data_set_is_told_by_its_md5(root):
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

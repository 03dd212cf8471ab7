import os

import numpy as np
import pytest

from zerosnet import InputError
from zerosnet.data import load
from zerosnet.data.idx import IdxLayout, read_idx

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

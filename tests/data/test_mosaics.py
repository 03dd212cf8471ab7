import numpy as np
import torch

from zerosnet.data import load
from zerosnet.data.dataset import LEVELS, SYMBOLS, WORDS, _words


def test_a_mosaic_is_read_back_level_by_level():
    """Every square of 2 x 2 symbols is a word of exactly one symbol, up to the class."""
    data = load("mosaics")
    bits = (data.test.images > 127).long().numpy()
    symbols = bits[:, 0] + 2 * bits[:, 1] + 4 * bits[:, 2]
    for level in reversed(range(LEVELS)):
        words = _words(level)
        owner = {tuple(word): symbol for symbol in range(SYMBOLS) for word in words[symbol].tolist()}
        assert len(owner) == SYMBOLS * WORDS, "no word belongs to two symbols"
        side = 2**level
        squares = symbols.reshape(-1, side, 2, side, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 4)
        symbols = np.array([owner[tuple(square)] for square in squares.tolist()]).reshape(-1, side, side)
    assert np.array_equal(symbols[:, 0, 0], data.test.labels.numpy())


def test_no_tile_tells_the_class():
    """The best guess from one tile alone is right less than twice as often as chance."""
    data = load("mosaics")
    bits = (data.train.images > 127).long()
    symbols = bits[:, 0] + 2 * bits[:, 1] + 4 * bits[:, 2]
    for y in range(8):
        for x in range(8):
            counts = torch.zeros(SYMBOLS, 8)
            counts.index_put_((symbols[:, y, x], data.train.labels), torch.ones(len(data.train)), accumulate=True)
            assert counts.max(1).values.sum() / len(data.train) < 0.25


def test_training_and_test_images_are_different():
    data = load("mosaics")
    train = {image.tobytes() for image in data.train.images.numpy()}
    assert not any(image.tobytes() in train for image in data.test.images.numpy())

"""The data set that needs depth and no files: mosaics of 8 x 8 coloured tiles, written by a grammar of three levels.

A class is a symbol. Three times every symbol is replaced by a word, a square of 2 x 2 symbols, so that 1 becomes 4, 16
and 64 symbols: the tiles. At every level each of the eight symbols has five words, and no word belongs to two symbols.
One of the five is drawn at random every time, so that a tile alone tells next to nothing about the class: it has to be
read from words, then from words of words, then from the whole. A network that uses many of its blocks learns to do so
sooner. (Such data are known as a random hierarchy model.)
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from zerosnet.data.arrays.epochs import stream_seed
from zerosnet.data.dataset import ImageSet

CLASSES = SYMBOLS = 8
WORDS = 5
"""Words per symbol."""
LEVELS = 3
TRAIN, TEST = 6_000, 1_000
_LETTERS = 4  # symbols of a word, a square of 2 x 2
_WEYL, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
Integers = npt.NDArray[np.int64]


def read_mosaics() -> tuple[ImageSet, ImageSet]:
    """6,000 training and 1,000 test images of 3 x 8 x 8 pixels, of eight classes; the same on every machine.

    The eight symbols are the corners of the RGB cube: bit k of a symbol is channel k, 0 or 255.
    """
    grammar = [_words(level) for level in range(LEVELS)]
    train, test = _written(grammar, "train", TRAIN), _written(grammar, "test", TEST)
    return train, test


def _written(grammar: Sequence[Integers], purpose: str, count: int) -> ImageSet:
    """Draw classes, and write a mosaic for each."""
    labels = _draw(f"mosaics/{purpose}/classes", count, CLASSES)
    tiles = labels.reshape(count, 1, 1)
    for level, words in enumerate(grammar):
        side = 2**level
        chosen = _draw(f"mosaics/{purpose}/{level}", tiles.size, WORDS).reshape(tiles.shape)
        squares = words[tiles, chosen].reshape(count, side, side, 2, 2)
        tiles = squares.transpose(0, 1, 3, 2, 4).reshape(count, 2 * side, 2 * side)
    channels = np.stack([(tiles >> bit & 1) * 255 for bit in range(3)], axis=1)
    return ImageSet(torch.from_numpy(channels.astype(np.uint8)), torch.from_numpy(labels))


def _words(level: int) -> Integers:
    """The words of every symbol at a level, of shape (symbols, words, letters): all of them different."""
    drawn = _draw(f"mosaics/words/{level}", 4 * SYMBOLS * WORDS, SYMBOLS**_LETTERS)
    different = np.array(list(dict.fromkeys(drawn.tolist()))[: SYMBOLS * WORDS])
    letters = np.stack([different // SYMBOLS**place % SYMBOLS for place in range(_LETTERS)], axis=-1)
    return letters.reshape(SYMBOLS, WORDS, _LETTERS)


def _draw(purpose: str, count: int, below: int) -> Integers:
    """Draw numbers from 0 to below - 1, by splitmix64: they depend on no version of any generator."""
    state = np.uint64(stream_seed(0, purpose)) + _WEYL * np.arange(1, count + 1, dtype=np.uint64)
    state = (state ^ state >> np.uint64(30)) * _FIRST
    state = (state ^ state >> np.uint64(27)) * _SECOND
    return ((state ^ state >> np.uint64(31)) % np.uint64(below)).astype(np.int64)

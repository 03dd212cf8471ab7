import hashlib

import torch

from zerosnet.data import load


def test_digits_need_no_files_and_keep_their_split_for_good():
    data = load("digits")
    assert (len(data.train), len(data.test)) == (1442, 355)
    assert (data.num_classes, data.in_chans, data.size) == (10, 1, (8, 8))
    digest = hashlib.blake2b(data.test.images.numpy().tobytes() + data.test.labels.numpy().tobytes(), digest_size=8)
    assert digest.hexdigest() == "5c95c1724a02cbb6"


def test_every_digit_is_split_four_to_one():
    data = load("digits")
    train, test = (torch.bincount(part.labels, minlength=10) for part in (data.train, data.test))
    assert torch.equal(test, (train + test) // 5)


def test_statistics_are_those_of_the_training_pixels():
    data = load("digits")
    pixels = data.train.images.double() / 255
    assert abs(float(pixels.mean()) - data.mean[0]) < 1e-4
    assert abs(float(pixels.std()) - data.std[0]) < 1e-4
    assert int(data.train.images.max()) == 255

from dataclasses import replace

import pytest
import torch

from zerosnet import InputError
from zerosnet.data import ImageSet, load, pixel_statistics


def test_validation_is_cut_from_the_training_set_by_seed_alone():
    whole, cut, again, other = (
        load("digits", **options)
        for options in ({}, {"validation": 0.1}, {"validation": 0.1}, {"validation": 0.1, "split_seed": 1})
    )
    assert whole.validation is None
    assert len(cut.validation) == round(0.1 * len(whole.train))
    assert len(cut.train) + len(cut.validation) == len(whole.train)
    assert torch.equal(cut.validation.images, again.validation.images)
    assert not torch.equal(cut.validation.labels, other.validation.labels)
    assert torch.equal(cut.test.images, whole.test.images)


def test_the_parts_of_a_split_are_disjoint_and_complete():
    whole, cut = load("digits"), load("digits", validation=0.25)
    together = torch.cat([cut.train.images, cut.validation.images]).flatten(1)
    assert torch.equal(together.unique(dim=0), whole.train.images.flatten(1).unique(dim=0))


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 1.5, 1e-6])
def test_a_split_that_leaves_nothing_is_refused(fraction):
    with pytest.raises(InputError, match="validation"):
        load("digits").split(fraction)


def test_scalings_bring_pixels_into_their_range():
    data = load("digits")
    assert pixel_statistics(data, "normalised") == (data.mean, data.std)
    assert pixel_statistics(data, "unit") == ((0.0,), (1.0,))
    assert pixel_statistics(data, "signed") == ((0.5,), (0.5,))
    with pytest.raises(InputError, match=r"scaling is 'zscore'.*normalised, unit, signed"):
        pixel_statistics(data, "zscore")


def test_image_sets_refuse_other_types_and_shapes():
    images, labels = torch.zeros(3, 1, 2, 2, dtype=torch.uint8), torch.zeros(3, dtype=torch.int64)
    with pytest.raises(InputError, match="images"):
        ImageSet(images.float(), labels)
    with pytest.raises(InputError, match="labels"):
        ImageSet(images, labels[:2])


def test_a_fingerprint_tells_data_that_have_changed():
    data = load("digits")
    assert data.fingerprint == load("digits").fingerprint != data.split(0.1).fingerprint
    images = data.test.images.clone()
    images[0, 0, 0, 0] += 1
    assert replace(data, test=ImageSet(images, data.test.labels)).fingerprint != data.fingerprint
    labels = data.train.labels.roll(1)
    assert replace(data, train=ImageSet(data.train.images, labels)).fingerprint != data.fingerprint

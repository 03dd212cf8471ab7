"""Batch norm needs two values per channel: one image at a time will not do if the last blocks see one pixel of it."""

from types import SimpleNamespace

import pytest
from tests.training.processes import spec

from zerosnet.errors import InputError
from zerosnet.training.grouping import check_batch_norm


def pictures(size: int) -> SimpleNamespace:
    return SimpleNamespace(in_chans=3, size=(size, size), num_classes=3)


def test_one_small_image_at_a_time_is_refused_and_two_are_not():
    run = spec(model="zerosnet18_opt")
    with pytest.raises(InputError, match=r"1 image of 32 x 32 .* expected --batch or --micro-batch 2 or more"):
        check_batch_norm(run, pictures(32), 1)
    check_batch_norm(run, pictures(32), 2)


def test_one_large_image_at_a_time_is_accepted():
    check_batch_norm(spec(model="zerosnet18_opt"), pictures(64), 1)

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.data.pictures import write_folder

from zerosnet import InputError
from zerosnet.data import Augmentation, open_folder
from zerosnet.data.streamed.batches import FILLING, Decoder, Stream, evaluation_items, to_numbers, training_items

CPU = torch.device("cpu")
CROP = Augmentation(flip=True, area=(0.1, 1.0))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return open_folder("imagefolder", write_folder(tmp_path_factory.mktemp("pictures"))).train


def stream(files, items, batch, workers=0, report=pytest.fail, **options):
    return Stream(Decoder(files, 16, **options), items, batch=batch, device=CPU, workers=workers, report=report)


@given(st.integers(1, 200), st.integers(1, 40), st.integers(1, 9))
def test_every_image_is_evaluated_once_whatever_the_number_of_processes(n, batch, size):
    shares = [list(evaluation_items(n, batch=batch, part=(rank, size))) for rank in range(size)]
    assert len({len(share) for share in shares}) == 1  # all have equally many batches: none waits for another
    assert all(len(items) == batch for share in shares for items in share)
    seen = [item[1] for share in shares for items in share for item in items if item != FILLING]
    assert sorted(seen) == list(range(n))


@given(st.integers(24, 100), st.sampled_from([1, 2, 3, 4, 6, 12]), st.integers(0, 7))
def test_micro_batches_do_not_depend_on_the_number_of_processes(n, size, position):
    def batches(part, micro):
        settings = {"seed": 3, "batch": 24, "steps": 8}
        return list(training_items(n, part=part, micro=micro, position=position, **settings))

    alone = batches((0, 1), 2)
    shares = [batches((rank, size), 2) for rank in range(size)]
    turns = 24 // size // 2
    assert len(alone) == (8 - position) * 12
    spread = [shares[k // turns][step * turns + k % turns] for step in range(8 - position) for k in range(12)]
    assert spread == alone


def test_a_stream_can_be_taken_up_anywhere():
    items = partial(training_items, 50, seed=1, batch=8, part=(0, 1), micro=8, steps=20)
    whole = list(items(position=0))
    assert list(items(position=7)) == whole[7:]
    assert [epoch for epoch, _ in whole[5]] == [0] * 8 and [epoch for epoch, _ in whole[6]] == [1] * 8
    assert len({index for batch in whole[:6] for _, index in batch}) == 48


def test_workers_give_what_this_process_gives(files):
    items = partial(training_items, len(files), seed=1, batch=10, part=(0, 1), micro=10, position=0, steps=6)
    here = list(stream(files, items, 10, augmentation=CROP))
    there = list(stream(files, items, 10, workers=2, augmentation=CROP))
    assert len(here) == len(there) == 6
    for ours, theirs in zip(here, there):
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs))
    assert here[0].images.shape == (10, 16, 16, 3) and here[0].images.dtype == torch.uint8


def test_a_batch_larger_than_a_piece_is_put_together_again(files):
    items = [[(-1, k % len(files)) for k in range(150)]]
    (batch,) = stream(files, lambda: iter(items), 150)
    assert batch.labels.tolist() == [int(files.labels[k % len(files)]) for k in range(150)]
    assert torch.equal(batch.images[0], batch.images[24])


@pytest.fixture
def damaged(tmp_path):
    folder = write_folder(tmp_path)
    for name in ("train/n00000002/n00000002_0.JPEG", "val/n00000001/n00000001_2.JPEG"):
        path = folder / name
        path.write_bytes(path.read_bytes()[:100])
    return open_folder("imagefolder", folder)


@pytest.mark.parametrize("workers", [0, 1])
def test_the_next_file_takes_the_place_of_a_broken_one_which_is_named_once(damaged, workers):
    said = []
    items = [[(0, 7), (0, 8), (0, 9)], [(1, 8), (1, 9), (1, 10)]]
    batches = list(stream(damaged.train, lambda: iter(items), 3, workers, said.append, augmentation=CROP))
    assert len(said) == 1 and "n00000002_0.JPEG cannot be decoded" in said[0]
    assert torch.equal(batches[0].images[1], batches[0].images[2]) and batches[0].labels.tolist() == [0, 1, 1]


def test_junk_is_named_once_however_often_it_is_met(tmp_path):
    junk = write_folder(tmp_path) / "train" / "n00000001" / "n00000001_0.JPEG"
    junk.write_bytes(b"no image")
    said = []
    items = [[(epoch, 0)] for epoch in range(8)]
    batches = list(stream(open_folder("imagefolder", tmp_path).train, lambda: iter(items), 1, report=said.append))
    assert len(batches) == 8 and said == [f"{junk} cannot be decoded (cannot identify image file)"]


def test_broken_images_do_not_count_in_an_evaluation(damaged):
    said = []
    items = partial(evaluation_items, len(damaged.test), batch=8, part=(0, 1))
    labels = torch.cat([batch.labels for batch in stream(damaged.test, items, 8, report=said.append)])
    assert (labels >= 0).sum() == len(damaged.test) - 1 and len(said) == 1


def test_a_folder_of_nothing_but_broken_images_ends_with_an_error(tmp_path):
    folder = write_folder(tmp_path, train=1)
    for path in (folder / "train").glob("*/*"):
        path.write_bytes(b"nothing")
    files = open_folder("imagefolder", folder).train
    with pytest.raises(InputError, match="not one image that can be decoded"):
        list(stream(files, lambda: iter([[(0, 0)]]), 1, report=lambda line: None))


class Dying(Decoder):
    def __getitems__(self, items):
        import os

        os._exit(9)


def test_a_worker_that_dies_ends_the_stream_with_an_error(files):
    dying = Stream(Dying(files, 16), lambda: iter([[(0, 0)]]), batch=1, device=CPU, workers=1, report=lambda line: None)
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(dying)


def test_numbers_are_normalised_and_mirrored_in_channels_last_memory():
    images = torch.arange(2 * 4 * 5 * 3, dtype=torch.uint8).view(2, 4, 5, 3)
    mean, std = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.5, 0.6, 0.7])
    numbers = to_numbers(images, torch.tensor([False, True]), mean, std, torch.float64)
    assert numbers.shape == (2, 3, 4, 5) and numbers.is_contiguous(memory_format=torch.channels_last)
    plain = images.permute(0, 3, 1, 2).double() / 255
    expected = (plain - mean.double()[:, None, None]) / std.double()[:, None, None]
    assert torch.allclose(numbers[0], expected[0]) and torch.allclose(numbers[1], expected[1].flip(-1))

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from zerosnet.data import Augmentation, DataSet, epoch_plan, gather
from zerosnet.training.fused.passes import Feed

AUGMENTATION = Augmentation(crop=2, flip=True)


def rates(epoch: int) -> Tensor:
    return torch.arange(12, dtype=torch.float64).view(6, 2) + 100 * epoch


@pytest.fixture
def feed(small_digits: DataSet) -> Iterator[Feed]:
    statistics = (torch.tensor(small_digits.mean), torch.tensor(small_digits.std))
    options = {"batch": 16, "augmentation": AUGMENTATION, "statistics": statistics, "rates": rates, "epochs": 3}
    feed = Feed(small_digits.train, seeds=[3, 5], **options)
    yield feed
    feed.close()


@pytest.mark.parametrize("order", [[(0, 0)], [(0, 0), (1, 0), (2, 0)], [(2, 4)], [(1, 5), (2, 0)]])
def test_each_replica_gets_its_own_plan_at_any_position(
    order: list[tuple[int, int]], feed: Feed, small_digits: DataSet
) -> None:
    for epoch, step in order:
        feed.begin(epoch, step)
        images, labels, lr = feed.batch()
        assert lr.tolist() == [2 * step + 100 * epoch, 2 * step + 1 + 100 * epoch]
        for k, seed in enumerate((3, 5)):
            plan = epoch_plan(seed, epoch, 96, batch=16, augmentation=AUGMENTATION)
            here = slice(16 * step, 16 * step + 16)
            rows = (None if t is None else t[here][None] for t in (plan.order, plan.dy, plan.dx, plan.flip))
            expected = gather(small_digits.train.images, *rows, feed.mean, feed.std)  # type: ignore[arg-type]
            assert torch.equal(images[:, k : k + 1], expected)
            assert torch.equal(labels[k], small_digits.train.labels[plan.order[here]])


def test_the_tables_of_an_epoch_stay_where_they_are(feed: Feed) -> None:
    feed.begin(0)
    places = [t.data_ptr() for t in feed._current if t is not None]
    first = feed.batch()[0]
    feed.begin(1)
    assert places == [t.data_ptr() for t in feed._current if t is not None]
    assert not torch.equal(first, feed.batch()[0])

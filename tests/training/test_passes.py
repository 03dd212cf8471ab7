"""Passes over images on the device: batches to learn from, and scores."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from zerosnet.data import Augmentation, DataSet, Feed, ImageSet, epoch_plan, gather, pixel_statistics
from zerosnet.models import create_model
from zerosnet.training import Score, evaluate
from zerosnet.training.fused.passes import (
    CPU_BATCH,
    CUDA_IMAGES,
    LEAST,
    NATIVE_IMAGES,
    Evaluation,
    Predictor,
    batch_size,
)

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


def test_scores_are_those_of_a_plain_pass(small_digits: DataSet) -> None:
    model = create_model("zerosnet20_opt", in_chans=1, seed=3).double()
    (score,) = evaluate(model, small_digits.test, pixel_statistics(small_digits, "signed"))
    images = small_digits.test.images.double() / 255 * 2 - 1
    with torch.no_grad():
        logits = model.eval()(images)
    loss = torch.nn.functional.cross_entropy(logits, small_digits.test.labels)
    assert score.loss == pytest.approx(float(loss))
    assert score.accuracy == float((logits.argmax(1) == small_digits.test.labels).double().mean())


def test_a_last_batch_that_is_not_full_counts_its_images_once(small_digits: DataSet) -> None:
    index = torch.arange(CPU_BATCH + 3) % 40
    many = ImageSet(small_digits.test.images[index], small_digits.test.labels[index])
    model = create_model("zerosnet20_opt", in_chans=1, seed=3)
    statistics = pixel_statistics(small_digits, "normalised")
    (all_at_once,) = evaluate(model, many, statistics)
    halves = [evaluate(model, many.subset(part), statistics)[0] for part in torch.arange(len(many)).split(100)]
    counts = [100, 100, len(many) - 200]
    mean = Score(
        sum(s.loss * n for s, n in zip(halves, counts)) / len(many),
        sum(s.accuracy * n for s, n in zip(halves, counts)) / len(many),
    )
    assert all_at_once.loss == pytest.approx(mean.loss, rel=1e-5)
    assert all_at_once.accuracy == pytest.approx(mean.accuracy)


def test_replicas_score_the_same_bits_as_alone_and_the_mode_comes_back(small_digits: DataSet) -> None:
    statistics = pixel_statistics(small_digits, "normalised")
    fused = create_model("zerosnet20_opt", in_chans=1, replicas=3, seed=[1, 2, 3])
    together = evaluate(fused, small_digits.test, statistics, replicas=3)
    assert fused.training
    for k in range(3):
        single = create_model("zerosnet20_opt", in_chans=1, seed=k + 1).eval()
        assert evaluate(single, small_digits.test, statistics)[0] == together[k]
        assert not single.training


@pytest.mark.parametrize("replicas", [1, 10, 30, 300])
def test_batches_on_a_gpu_shrink_with_the_number_of_replicas(replicas: int) -> None:
    size = batch_size(blank(10_000, 32), replicas, torch.device("cuda"))
    assert 100 <= size * replicas <= max(CUDA_IMAGES, 100 * replicas)
    assert batch_size(blank(10_000, 32), replicas, torch.device("cuda"), least=500) == max(500, size)
    assert batch_size(blank(355, 28), replicas, torch.device("cpu")) == 178


@pytest.mark.parametrize("replicas, images", [(1, 2_500), (10, 1_000), (30, 323), (300, 100)])
def test_our_own_kernels_take_larger_batches(replicas: int, images: int) -> None:
    sizes = {"filled_by": NATIVE_IMAGES, "least": LEAST}
    assert batch_size(blank(10_000, 32), replicas, torch.device("cuda"), **sizes) == images


def test_batches_shrink_with_the_size_of_the_images() -> None:
    assert batch_size(blank(2_500, 64), 1, torch.device("cuda")) == 625
    assert batch_size(blank(3, 512), 1, torch.device("cpu")) == 1


def blank(count: int, side: int) -> ImageSet:
    return ImageSet(torch.zeros(1, dtype=torch.uint8).expand(count, 3, side, side), torch.zeros(count).long())


@pytest.mark.parametrize("shares", [True, False])
def test_only_a_predictor_that_shares_images_gets_them_once(small_digits: DataSet, shares: bool) -> None:
    seen: list[Tensor] = []

    class Seen(Predictor):
        shares_images = shares

        def __call__(self, images: Tensor) -> Tensor:
            seen.append(images)
            return super().__call__(images)

    model = create_model("zerosnet20_opt", in_chans=1, replicas=3, seed=[1, 2, 3])
    statistics = tuple(torch.tensor(values) for values in pixel_statistics(small_digits, "unit"))
    evaluation = Evaluation(Seen(model, replicas=3, compiled=False), small_digits.test, statistics)
    evaluation.run()
    expected = (small_digits.test.images[: evaluation.batch].float() / 255).repeat(1, 1 if shares else 3, 1, 1)
    assert torch.equal(seen[0], expected)
    assert evaluation.scores() == evaluate(model, small_digits.test, pixel_statistics(small_digits, "unit"), replicas=3)


def test_a_pass_takes_in_the_parameters_once(small_digits: DataSet) -> None:
    told: list[str] = []

    class Told(Predictor):
        def refresh(self) -> None:
            told.append("refresh")

        def __call__(self, images: Tensor) -> Tensor:
            told.append("batch")
            return super().__call__(images)

    predict = Told(create_model("zerosnet20_opt", in_chans=1, seed=1), replicas=1, compiled=False)
    statistics = tuple(torch.tensor(values) for values in pixel_statistics(small_digits, "unit"))
    Evaluation(predict, small_digits.test, statistics, batch=-(-len(small_digits.test) // 2)).run()
    assert told == ["refresh", "batch", "batch"]

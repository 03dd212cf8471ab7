"""The engine with kernels of our own, on a CUDA device, on small sets of images of CIFAR's shape."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from zerosnet.data import DataSet, ImageSet, pixel_statistics
from zerosnet.numerics import Scheme
from zerosnet.training import RunSpec, recipe
from zerosnet.training.finished.networks import evaluate
from zerosnet.training.fused.trainer import FusedTrainer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
CUDA = torch.device("cuda", 0)


@pytest.fixture(scope="module")
def data() -> DataSet:
    """Ten colours under noise: something that can be learnt in a few steps, wherever the image is cropped."""
    generator = torch.Generator().manual_seed(0)
    kinds = torch.rand(10, 3, 1, 1, generator=generator)

    def part(n: int) -> ImageSet:
        labels = torch.randint(10, (n,), generator=generator)
        pixels = 0.7 * kinds[labels] + 0.3 * torch.rand(n, 3, 32, 32, generator=generator)
        return ImageSet((255 * pixels).to(torch.uint8), labels)

    return DataSet("cifar10", part(1280), part(300), 10, (0.49, 0.48, 0.45), (0.25, 0.24, 0.26))


def specs(seeds, scheme="zerosnet(-9/5)", **changes):
    chosen = recipe("paper", "cifar10", epochs=3)
    spec = RunSpec("zerosnet20", "cifar10", chosen, 0, Scheme.parse(scheme))
    return [replace(spec, seed=seed, **changes) for seed in seeds]


def of_streams(seeds, name="streams20"):
    return [RunSpec(name, "cifar10", recipe("paper", "cifar10", epochs=3), seed) for seed in seeds]


KINDS = [specs, of_streams, partial(of_streams, name="streams20_sinkhorn"), partial(of_streams, name="preresnet20_x0")]
every_kind = pytest.mark.parametrize("runs", KINDS, ids=["zerosnet20", "streams20", "sinkhorn", "x0"])


def trained(training, steps):
    training.begin_epoch(0, 0)
    for _ in range(steps):
        training.step()
    return {name: tensor.clone() for name, tensor in training.tensors().items()}


@every_kind
def test_the_native_kernels_are_chosen_and_torch_where_it_is_asked_for(data, runs):
    assert FusedTrainer(runs([1]), data, CUDA).backend.kernels == "native"
    asked = FusedTrainer(runs([1]), data, CUDA, kernels="torch").backend
    assert (asked.kernels, asked.why_not_native) == ("torch", "asked for")


@every_kind
def test_two_runs_are_bit_identical(data, runs):
    one, two = (trained(FusedTrainer(runs([1, 2, 3]), data, CUDA), 9) for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(("name", "other"), [("streams20", "streams20_sinkhorn"), ("streams20_sinkhorn", "streams20")])
def test_streams_do_not_notice_neighbours_that_are_mixed_otherwise(data, name, other):
    one = trained(FusedTrainer(of_streams([1, 2], name), data, CUDA), 6)
    two = trained(FusedTrainer([*of_streams([1], name), *of_streams([7], other)], data, CUDA), 6)
    for key, tensor in one.items():
        ours, theirs = (t.reshape(2, -1)[0] for t in (tensor, two[key]))
        assert torch.equal(ours, theirs), key


def test_a_replica_does_not_notice_who_its_neighbours_are(data):
    one = trained(FusedTrainer(specs([1, 2, 3]), data, CUDA), 9)
    two = trained(FusedTrainer([*specs([1]), *specs([7, 8], "1,1,1;1")], data, CUDA), 9)
    for name, tensor in one.items():
        ours, theirs = (t.reshape(3, -1)[0] for t in (tensor, two[name]))
        assert torch.equal(ours, theirs), name


@every_kind
def test_a_replica_that_turns_nan_freezes_and_its_neighbours_do_not_notice(data, runs):
    clean = trained(FusedTrainer(runs([1, 2, 3]), data, CUDA), 6)
    training = FusedTrainer(runs([1, 2, 3]), data, CUDA)
    with torch.no_grad():
        training.model.stack.blocks[2].f.conv1.weight[16:32] = float("nan")
    dirty = trained(training, 6)
    assert training.diverged() == [False, True, False]
    for name, tensor in clean.items():
        ours, theirs = (t.reshape(3, -1)[[0, 2]] for t in (tensor, dirty[name]))
        assert torch.equal(ours, theirs), name


@every_kind
def test_a_run_begun_with_one_engine_is_continued_by_the_other(data, runs):
    begun = FusedTrainer(runs([1, 2]), data, CUDA)
    state = trained(begun, 5)
    losses = []
    for kernels in ("native", "torch"):
        training = FusedTrainer(runs([1, 2]), data, CUDA, kernels=kernels)
        training.load(state)
        training.begin_epoch(0, 5)
        before = training.losses.clone()
        for _ in range(4):
            training.step()
        losses.append((training.losses - before).tolist())
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


@every_kind
def test_it_learns_and_its_evaluation_is_the_plain_one(data, runs):
    training = FusedTrainer(runs([1, 2]), data, CUDA)
    for epoch in range(3):
        training.begin_epoch(epoch, 0)
        for _ in range(training.steps):
            training.step()
    training.tests["test"].run()
    native = training.tests["test"].scores()
    plain = evaluate(training.model, data.test, pixel_statistics(data, "normalised"), replicas=2)
    for ours, reference in zip(native, plain):
        assert ours.accuracy > 0.5
        assert ours.accuracy == pytest.approx(reference.accuracy, abs=0.01)
        assert ours.loss == pytest.approx(reference.loss, rel=0.02)

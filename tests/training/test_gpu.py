"""On a CUDA device: recorded against plain training, isolation of a diverged replica, precisions, resuming."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from tests.training.engines import StepClock

from zerosnet.data import DataSet, ImageSet, load, pixel_statistics
from zerosnet.models.layers.replicated import Conv
from zerosnet.models.stepping import blocks as conv_norm
from zerosnet.numerics import Scheme
from zerosnet.training import RunSpec, Store, join, plan, recipe, snapshot
from zerosnet.training.capacity import _bound, _cuda_memory, fitting
from zerosnet.training.engine import train
from zerosnet.training.finished.networks import evaluate, load_network
from zerosnet.training.fused.passes import Predictor, TorchStep
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.grouping import build_model
from zerosnet.training.machine import torch_settings
from zerosnet.training.options import PRECISIONS, Options, SaveInterval

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
LAMBDAS = ("-9/5", "1/2", "10")


@pytest.fixture(scope="module")
def digits() -> DataSet:
    return load("digits")


def specs(count: int = 3, epochs: int = 2, precision: str | None = None) -> list[RunSpec]:
    chosen = recipe("quick", "digits", epochs=epochs, augmentation={"crop": 1, "flip": True})
    return [
        RunSpec("zerosnet20", "digits", chosen, k, Scheme.parse(f"zerosnet({LAMBDAS[k % 3]})"), precision)
        for k in range(count)
    ]


def tabled(count: int, epochs: int) -> list[RunSpec]:
    """Runs as in the paper's tables, stable ones, on few images."""
    chosen = recipe("paper", "cifar10", epochs=epochs, batch=32)
    schemes = [Scheme.parse(f"zerosnet({number})") for number in ("-9/5", "1/2", "1")]
    return [RunSpec("zerosnet20", "cifar10", chosen, k, schemes[k % 3]) for k in range(count)]


def pictures(train: int, test: int) -> DataSet:
    """Random ones in CIFAR's shape."""
    draw = torch.Generator().manual_seed(0)
    parts = [
        ImageSet(
            torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=draw),
            torch.randint(10, (count,), generator=draw),
        )
        for count in (train, test)
    ]
    return DataSet("cifar10", *parts, 10, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25))


def steps(training: FusedTrainer, count: int) -> list[list[float]]:
    """The losses of the first steps, one list a replica."""
    training.begin_epoch(0, 0)
    sums = [training.losses.tolist()]
    for _ in range(count):
        training.step()
        sums.append(training.losses.tolist())
    return [[after[k] - before[k] for before, after in pairwise(sums)] for k in range(training.replicas)]


def test_recorded_and_compiled_steps_follow_the_plain_ones_on_the_cpu(digits: DataSet) -> None:
    chosen = specs(precision="fp64")  # the unstable scheme magnifies rounding
    with torch_settings(CUDA, deterministic=False):
        recorded = FusedTrainer(chosen, digits, CUDA)
        start = {name: tensor.clone() for name, tensor in recorded.tensors().items()}
        plain = FusedTrainer(chosen, digits, CPU)
        for name, tensor in plain.tensors().items():
            assert torch.equal(start[name].cpu(), tensor), f"warming up has changed {name}"
        for ours, reference in zip(steps(recorded, 8), steps(plain, 8)):
            assert ours == pytest.approx(reference, rel=1e-8)
    recorded.tests["test"].run()
    assert all(score.loss > 0 for score in recorded.tests["test"].scores())
    assert int(recorded.feed.counter) == 8


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-3), ("bf16", 2e-2)])
def test_a_recorded_evaluation_agrees_with_a_plain_one(digits: DataSet, precision: str, tolerance: float) -> None:
    with torch_settings(CUDA, deterministic=False):
        training = FusedTrainer(specs(precision=precision), digits, CUDA, kernels="torch")
        steps(training, 20)
        training.tests["test"].run()
        recorded = training.tests["test"].scores()
        plain = evaluate(training.model, digits.test, pixel_statistics(digits, "normalised"), replicas=3)
    for ours, reference in zip(recorded, plain):
        assert ours.loss == pytest.approx(reference.loss, rel=tolerance)
        assert ours.accuracy == pytest.approx(reference.accuracy, abs=0.006 if precision == "fp32" else 0.012)


@pytest.mark.parametrize("name", ["bf16", "fp32"])
def test_shared_images_score_as_repeated_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And matrix products as grouped convolutions, convolutions with norm and ReLU in them as the three in turn."""
    data = pictures(train=64, test=10_000)
    model = build_model(tabled(3, epochs=1), data).to(CUDA, memory_format=torch.channels_last)
    model.conv_dtype = PRECISIONS[name].conv_dtype
    statistics = pixel_statistics(data, "normalised")
    with torch_settings(CUDA, deterministic=False):
        for _ in range(20):  # running statistics that suit the weights
            with torch.no_grad():
                model(torch.randn(64, 3, 32, 32, device=CUDA).to(memory_format=torch.channels_last))
        shared = evaluate(model, data.test, statistics, replicas=3)
        monkeypatch.setattr(Predictor, "shares_images", False)
        monkeypatch.setattr(Conv, "is_product", lambda self, x: False)
        monkeypatch.setattr(conv_norm, "_only_the_result", lambda conv, norm, x: False)
        repeated = evaluate(model, data.test, statistics, replicas=3)
    for ours, reference in zip(shared, repeated):
        assert ours.loss == pytest.approx(reference.loss, rel=1e-3)
        assert ours.accuracy == pytest.approx(reference.accuracy, abs=20 / 10_000)


@pytest.mark.parametrize("replicas", [1, 3])
def test_weights_made_ready_at_once_give_the_same_bits(replicas: int) -> None:
    data = pictures(train=64, test=64)
    with torch_settings(CUDA, deterministic=True):
        training = FusedTrainer(tabled(replicas, epochs=1), data, CUDA, kernels="torch")
        step, generator = training.backend.step, torch.Generator(CUDA).manual_seed(0)
        assert isinstance(step, TorchStep) and step.ready is not None
        images = torch.randn(32, 3 * replicas, 32, 32, device=CUDA, generator=generator)
        images, labels = images.to(memory_format=torch.channels_last), torch.arange(32, device=CUDA) % 10
        ours = step(images, labels.expand(replicas, -1))
        found = [gradient.clone() for gradient in ours.gradients]
        plain = TorchStep(training.model, step.parameters, replicas=replicas)(images, labels.expand(replicas, -1))
    assert torch.equal(ours.losses, plain.losses)
    for gradient, reference in zip(found, plain.gradients):
        assert torch.equal(gradient, reference)


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_replica_that_turns_nan_freezes_and_its_neighbours_do_not_notice(digits: DataSet, precision: str) -> None:
    with torch_settings(CUDA, deterministic=True):
        training = FusedTrainer(specs(precision=precision), digits, CUDA)
        fresh = snapshot(training.tensors(), 3)
        healthy = steps(training, 10)
        reference = snapshot(training.tensors(), 3)
        broken = [dict(part) for part in fresh]
        broken[1]["model.fc.weight"] = torch.full_like(broken[1]["model.fc.weight"], float("nan"))
        training.load(join(broken))
        ill = steps(training, 10)
        after = snapshot(training.tensors(), 3)
    assert training.diverged() == [False, True, False]
    assert int(training.lived[1]) == 0
    for k in (0, 2):
        assert ill[k] == healthy[k]
        for name, tensor in reference[k].items():
            assert torch.equal(tensor, after[k][name]), f"{name} of replica {k} was touched"
    weight = "model.stem.conv.weight"
    assert torch.equal(after[1][weight], fresh[1][weight])


def test_bf16_convolutions_stay_close_to_fp32(digits: DataSet) -> None:
    losses = {}
    for precision in ("bf16", "fp32"):
        with torch_settings(CUDA, deterministic=False):
            losses[precision] = steps(FusedTrainer(specs(precision=precision), digits, CUDA), 20)
    for ours, reference in zip(losses["bf16"], losses["fp32"]):
        assert ours[0] == pytest.approx(reference[0], rel=0.02)
        assert sum(ours[-5:]) == pytest.approx(sum(reference[-5:]), rel=0.25)


def test_no_synchronisation_with_the_host_inside_an_epoch(digits: DataSet) -> None:
    with torch_settings(CUDA, deterministic=False):
        training = FusedTrainer(specs(), digits, CUDA)
        training.begin_epoch(0, 0)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(10):
                training.step()
            training.tests["test"].run()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert all(score.accuracy >= 0 for score in training.tests["test"].scores())


def test_a_run_stopped_in_the_middle_goes_on_to_the_same_end(tmp_path: Path, digits: DataSet) -> None:
    def end(store: Store) -> list[dict[str, float]]:
        rows = [record.metrics()[-1] for record in store.records()]
        return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]

    options = Options(str(CUDA), deterministic=True, checkpoint_every=SaveInterval(epochs=1))
    whole, pieces = Store(tmp_path / "whole"), Store(tmp_path / "pieces")
    train(specs(), whole, options)
    clock = StepClock(7)
    train(specs(), pieces, options, clock)
    assert {record.status for record in pieces.records()} == {"stopped"}
    train(specs(), pieces, options)
    assert {record.status for record in pieces.records()} == {"finished"}
    for ours, reference in zip(end(pieces), end(whole)):
        assert ours == pytest.approx(reference, rel=1e-3, abs=1e-3)


def test_in_deterministic_mode_the_plain_engine_repeats_itself_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled afresh each time: nothing that a stopwatch decides may decide about bits."""
    import torch._inductor.config as compiler

    monkeypatch.setattr(plan, "load", lambda *_, **__: pictures(train=640, test=100))
    options = Options(str(CUDA), deterministic=True, kernels="torch", replicas=3)
    stores = [Store(tmp_path / name) for name in ("first", "second")]
    with compiler.patch(force_disable_caches=True):
        for store in stores:
            train(tabled(3, epochs=2), store, options)
    for first, second in zip(*(store.records() for store in stores), strict=True):
        assert first.status == second.status == "finished"
        rows = [[{k: v for k, v in row.items() if k != "seconds"} for row in r.metrics()] for r in (first, second)]
        assert len(rows[0]) == 2 and rows[0] == rows[1]
        ours, theirs = (load_network(record).state_dict() for record in (first, second))
        assert [name for name, tensor in ours.items() if not torch.equal(tensor, theirs[name])] == []


def test_trained_coefficients_are_recorded_too(tmp_path: Path) -> None:
    chosen = recipe("quick", "digits", epochs=1)
    store = Store(tmp_path)
    train([RunSpec("zerosnet20_tra", "digits", chosen, seed) for seed in (0, 1)], store, Options(str(CUDA)))
    for record in store.records():
        assert record.status == "finished"
        assert len(record.metrics()[0]["coefficients"]) == 9


def test_memory_decides_how_many_networks_fit(digits: DataSet) -> None:
    assert fitting(specs()[0], digits, CUDA) >= 8


@pytest.mark.parametrize("model", ["zerosnet20_opt", "zerosnet20_tra", "preresnet20_x0", "streams20"])
def test_the_bound_on_memory_is_more_than_a_plain_step_needs(model: str) -> None:
    data, spec = pictures(256, 16), RunSpec(model, "cifar10", recipe("paper", "cifar10", epochs=1), 1)
    assert _bound(spec, data, CUDA) > _cuda_memory(spec, data, CUDA)[1]

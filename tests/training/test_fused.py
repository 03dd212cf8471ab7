"""K networks in one: each as if it were alone, none disturbed by another."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.data import DataSet, gather
from zerosnet.errors import InputError
from zerosnet.models import create_model
from zerosnet.training import RunSpec, join, lr_at, recipe, snapshot
from zerosnet.training.fused.trainer import FusedTrainer

MakeSpecs = Callable[..., list[RunSpec]]
CPU = torch.device("cpu")


def prepared(specs: Sequence[RunSpec], data: DataSet) -> FusedTrainer:
    return FusedTrainer(specs, data, CPU)


def advance(training: FusedTrainer, steps: int) -> list[dict[str, Tensor]]:
    """Some steps, over as many epochs as it takes; the tensors of every replica afterwards."""
    for step in range(steps):
        if step % training.steps == 0:
            training.begin_epoch(step // training.steps, 0)
        training.step()
    training.close()
    return snapshot(training.tensors(), training.replicas)


def assert_same_bits(ours: dict[str, Tensor], reference: dict[str, Tensor]) -> None:
    assert set(ours) == set(reference)
    for name, tensor in ours.items():
        assert torch.equal(tensor, reference[name]), name


def test_a_replica_is_the_same_to_the_bit_alone_or_among_others(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    specs = make_specs()
    together = advance(prepared(specs, small_digits), 8)
    for k, spec in enumerate(specs):
        assert_same_bits(advance(prepared([spec], small_digits), 8)[0], together[k])


def test_learning_rate_schedule_and_decay_are_a_replicas_own(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    specs = make_specs(2)
    own = replace(specs[1].recipe, lr=0.02, weight_decay=0.01, schedule=recipe("paper", "digits").schedule)
    specs[1] = replace(specs[1], recipe=own)
    together = advance(prepared(specs, small_digits), 7)
    for k, spec in enumerate(specs):
        assert_same_bits(advance(prepared([spec], small_digits), 7)[0], together[k])


@pytest.mark.parametrize(
    ("model", "kept"),
    [("zerosnet20_tra", "coefficients"), ("lmresnet20", "coefficients"), ("streams20_sinkhorn", "matrices")],
)
def test_trained_coefficients_are_the_same_alone_or_among_others(model: str, kept: str, small_digits: DataSet) -> None:
    specs = [RunSpec(model, "digits", recipe("official", "digits", epochs=1, batch=16), seed) for seed in (0, 1)]
    together = prepared(specs, small_digits)
    before = together.trained_coefficients()
    parts = advance(together, 5)
    for k, spec in enumerate(specs):
        assert_same_bits(advance(prepared([spec], small_digits), 5)[0], parts[k])
    after = together.trained_coefficients()
    assert before is not None and after is not None
    assert len(after) == 2 and len(after[0][kept]) == 9 and before[0] != after[0]


def test_fused_and_alone_agree_in_float64_over_50_steps(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    specs = make_specs(2, precision="fp64", epochs=9)
    together = advance(prepared(specs, small_digits), 50)
    alone = advance(prepared(specs[1:], small_digits), 50)[0]
    for name, tensor in alone.items():
        torch.testing.assert_close(together[1][name], tensor, rtol=1e-6, atol=1e-6)


def test_a_run_is_what_plain_torch_makes_of_it(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    (spec,) = make_specs(1, precision="fp64", nesterov=True, weight_decay=1e-3, label_smoothing=0.1)
    training = prepared([spec], small_digits)
    model = create_model("zerosnet20", scheme=spec.scheme, in_chans=1, seed=spec.seed).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, nesterov=True, weight_decay=1e-3)
    plan, data = training.feed._plan(0), small_digits
    training.begin_epoch(0, 0)
    for step in range(6):
        training.step()
        index, dy, dx, flip = (t[step] for t in (plan.order, plan.dy, plan.dx, plan.flip))  # type: ignore[index]
        statistics = (torch.tensor(data.mean), torch.tensor(data.std))
        images = gather(data.train.images, index, dy, dx, flip, *statistics, dtype=torch.float64)
        loss = F.cross_entropy(model(images), data.train.labels[index[0]], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = lr_at(spec.recipe, step, 6)
        optimizer.step()
    training.close()
    for name, tensor in training.model.state_dict().items():
        torch.testing.assert_close(tensor, model.state_dict()[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["model.fc.weight", "model.stem.conv.weight", "model.stack.blocks.4.f.bn1.weight"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_replica_that_is_not_finite_freezes_and_touches_no_other(
    name: str, value: float, make_specs: MakeSpecs, small_digits: DataSet
) -> None:
    specs = make_specs()
    healthy = advance(prepared(specs, small_digits), 6)
    training = prepared(specs, small_digits)
    parts = snapshot(training.tensors(), 3)
    parts[1][name].view(-1)[0] = value
    training.load(join(parts))
    after = advance(training, 6)
    assert training.diverged() == [False, True, False]
    assert_same_bits(after[0], healthy[0])
    assert_same_bits(after[2], healthy[2])
    for parameter, _ in training.model.named_parameters():
        torch.testing.assert_close(after[1][f"model.{parameter}"], parts[1][f"model.{parameter}"], equal_nan=True)
    assert int(training.lived[1]) == 0
    assert torch.isfinite(after[1]["optimizer.momentum.fc.weight"]).all()


def test_weights_that_overflow_are_noticed_at_the_end_of_an_epoch(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    training = prepared(make_specs(2), small_digits)
    advance(training, 1)
    with torch.no_grad():
        training.model.fc.weight[0, 0] = float("inf")
    assert training.diverged() == [True, False]


def test_the_momentum_starts_afresh_every_epoch_if_the_recipe_resets_it(
    make_specs: MakeSpecs, small_digits: DataSet
) -> None:
    training = prepared(make_specs(1, reset_momentum=True), small_digits)
    advance(training, 6)
    assert training.optimizer.state()["momentum.fc.weight"].abs().sum() > 0
    training.begin_epoch(1, 0)
    assert all(not buffer.any() for buffer in training.optimizer.buffers)


def test_a_state_that_does_not_fit_is_refused(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    training = prepared(make_specs(1), small_digits)
    with pytest.raises(InputError, match="does not fit"):
        training.load({"model.fc.weight": torch.zeros(1)})
    training.close()


def test_the_compiled_step_is_the_plain_one(
    make_specs: MakeSpecs, small_digits: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def traced(function: Callable[..., object]) -> object:
        return torch.compile(function, dynamic=False, backend="aot_eager", fullgraph=True)

    for module in ("passes", "optimizer"):
        monkeypatch.setattr(f"zerosnet.training.fused.{module}.compile_static", traced)
    torch._dynamo.reset()
    (spec,) = make_specs(1, precision="fp64")
    compiled = FusedTrainer([spec], small_digits, CPU, compiled=True)
    plain = prepared([spec], small_digits)
    ours, reference = advance(compiled, 3)[0], advance(plain, 3)[0]
    for name, tensor in reference.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-7, atol=1e-9)
    compiled.tests["test"].run()
    plain.tests["test"].run()
    assert compiled.tests["test"].scores()[0].loss == pytest.approx(plain.tests["test"].scores()[0].loss)

"""The measures of depth on networks whose answers are known."""

import copy

import pytest
import torch

from zerosnet import InputError
from zerosnet.models import (
    accuracies_without_block,
    accuracies_without_rest,
    block_influences,
    contribution_cosines,
    create_model,
    logit_lens,
    measure_depth,
)
from zerosnet.models.diagnosis.switched_off import logits_without_each, tails

LABELS = torch.arange(6)


def images(count: int = 6, size: int = 8, channels: int = 3) -> torch.Tensor:
    return torch.randn(count, channels, size, size, generator=torch.Generator().manual_seed(0))


def trained_by_a_step(name: str = "zerosnet20_opt", **options):
    """A network with running statistics of its own."""
    model = create_model(name, seed=0, **options).train()
    with torch.no_grad():
        for _ in range(3):
            model(images())
    return model.eval()


def test_a_deleted_block_is_one_whose_last_convolution_is_zero():
    model = trained_by_a_step()
    found = list(logits_without_each(model, images()))
    assert len(found) == 9
    for n in (0, 3, 8):
        other = copy.deepcopy(model)
        other.stack.blocks[n].f.conv2.weight.data.zero_()
        with torch.no_grad():
            torch.testing.assert_close(found[n], other(images()))


def test_deleting_blocks_works_with_several_betas():
    model = trained_by_a_step("zerosnet20", scheme="adams-bashforth(2)")
    *_, last = logits_without_each(model, images(2))
    with torch.no_grad():
        *_, step = model.walk(images(2), silent_from=8)
        torch.testing.assert_close(last, model.logits(step.state))


def test_deleting_a_block_that_adds_nothing_changes_no_accuracy():
    model = trained_by_a_step()
    for block in model.stack.blocks:
        block.f.conv2.weight.data.zero_()
    whole = (model(images()).argmax(1) == LABELS).double().mean().item()
    assert accuracies_without_block(model, images(), LABELS) == pytest.approx([whole] * 9)


def test_cosines_are_those_of_contribution_and_sum():
    model = trained_by_a_step().double()
    found = contribution_cosines(model, images().double())
    for n, step in enumerate(model.walk(images().double())):
        kept = sum(a * y for a, y in zip(step.row.alphas, step.states, strict=False))
        expected = torch.cosine_similarity(step.row.betas[0] * step.slope, kept, dim=1).mean().item()
        assert found[n] == pytest.approx(expected, abs=1e-9)


def test_a_block_that_doubles_its_state_has_cosine_one_and_no_influence():
    model = create_model("preresnet20", seed=0).double()
    model.stack.blocks[1].f.slope = lambda activated, scale=1.0: state
    with torch.no_grad():
        state = next(iter(copy.deepcopy(model).train().walk(images().double()))).state
    assert contribution_cosines(model, images())[1] == pytest.approx(1)
    assert block_influences(model, images())[1] == pytest.approx(0, abs=1e-9)


def test_influence_is_large_if_a_block_adds_much_and_vanishes_with_beta():
    found = block_influences(create_model("zerosnet20_opt", seed=0), images())
    assert all(0.05 < value < 1.5 for value in found)
    small = block_influences(create_model("zerosnet20", scheme="1;1/1000000", seed=0), images())
    assert max(small) < 1e-9


def test_cosines_of_a_state_that_reaches_1e15_are_finite():
    model = create_model("zerosnet56", scheme="zerosnet(-1/5)", seed=0)
    assert all(-1 <= value <= 1 for value in contribution_cosines(model, images(2)))


def test_the_logit_lens_reads_the_states_of_the_last_stage_and_ends_with_the_logits():
    model = trained_by_a_step()
    found = logit_lens(model, images())
    assert [one is None for one in found] == [True] * 6 + [False] * 3
    with torch.no_grad():
        torch.testing.assert_close(found[-1], model(images()))
    states = [step.state for step in model.walk(images())]
    torch.testing.assert_close(found[6], model.logits(states[6]))


def test_reestimated_tails_normalise_the_last_state_by_its_own_statistics():
    model = trained_by_a_step()
    before = copy.deepcopy(model.state_dict())
    found = list(tails(model, images(), reestimate=True))
    *_, step = model.walk(images(), silent_from=4)
    head = copy.deepcopy(model)
    head.bn.train()
    with torch.no_grad():
        torch.testing.assert_close(found[4].logits, head.logits(step.state))
    assert not torch.allclose(found[4].logits, list(tails(model, images()))[4].logits)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert not model.bn.training
    assert model.bn.momentum == 0.1


def test_batch_statistics_leave_nothing_to_reestimate():
    model, options = create_model("zerosnet20_opt", seed=0), {"statistics": "batch"}
    once = accuracies_without_rest(model, images(), LABELS, **options)
    assert once == accuracies_without_rest(model, images(), LABELS, reestimate=True, **options)


@pytest.mark.parametrize("name", ["zerosnet20_tra", "preresnet20", "zerosnet18_opt"])
def test_all_measures_are_taken_for_every_structure_and_leave_the_network_as_it_is(name):
    model = trained_by_a_step(name, num_classes=10)
    before = copy.deepcopy(model.state_dict())
    found = measure_depth(model, images(), LABELS)
    assert found.statistics == "running"
    assert len(found.blocks) == len(model.stack.blocks)
    assert found.blocks[-1].lens_accuracy == found.accuracy
    assert found.blocks[-1].lens_agreement == 1
    assert found.blocks[-1].accuracy_deleted == found.blocks[-1].accuracy_without
    assert found.to_json()["blocks"][0]["lens_accuracy"] is None
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state_dict().items())


@pytest.mark.parametrize("measure", [accuracies_without_block, accuracies_without_rest, measure_depth])
def test_several_replicas_other_networks_and_bad_labels_are_refused(measure):
    with pytest.raises(InputError, match="2 replicas; expected a single network"):
        measure(create_model("zerosnet20_opt", replicas=2), images(), LABELS)
    with pytest.raises(InputError, match="Identity; expected a single network"):
        measure(torch.nn.Identity(), images(), LABELS)
    with pytest.raises(InputError, match="one class for each"):
        measure(create_model("zerosnet20_opt"), images(), LABELS[:3])


@pytest.mark.parametrize("measure", [contribution_cosines, block_influences, logit_lens])
def test_measures_without_labels_refuse_replicas_too(measure):
    with pytest.raises(InputError, match="2 replicas"):
        measure(create_model("zerosnet20_opt", replicas=2), images())
    with pytest.raises(InputError, match="statistics is 'best'"):
        measure(create_model("zerosnet20_opt"), images(), statistics="best")

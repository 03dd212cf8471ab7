"""What `diagnose` says about networks whose answers are known."""

import copy
import json

import numpy as np
import pytest
import torch

from zerosnet import InputError, Scheme
from zerosnet.models import create_model, diagnose, wiring_of_network
from zerosnet.models.diagnosis.measure import envelopes
from zerosnet.numerics import PAPER_ROWS
from zerosnet.numerics.depth.envelopes import envelope

EULER = Scheme([1], [1])


def images(count: int = 4, size: int = 32, channels: int = 3) -> torch.Tensor:
    return torch.randn(count, channels, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("row", PAPER_ROWS, ids=lambda row: row.label)
def test_unstable_rows_are_shallow_at_initialisation_and_stable_ones_deep(row):
    found = diagnose(create_model("zerosnet56", scheme=row.scheme, seed=0), images(8))
    ratio, depth = found.blocks[-1].ratio, found.blocks_above()
    if row.printed_zero_stable:
        assert 0.01 < ratio < 1
        assert depth >= 26
    else:
        assert 5e-16 < ratio < 1e-6
        assert depth <= 12
    assert found.statistics == "batch"
    assert ("stable" in found.verdict.split()) == row.printed_zero_stable


def test_effective_depth_is_the_definition_of_wirings_by_predicted_and_by_measured_shares():
    model = create_model("zerosnet56_opt", seed=0)
    found = diagnose(model, images(8))
    expected = wiring_of_network(model).effective_depth()
    assert found.effective_depth.predicted == pytest.approx(expected)
    assert found.effective_depth.measured == pytest.approx(sum(b.ratio / (b.ratio + 0.1) for b in found.blocks))
    assert found.effective_depth.measured == pytest.approx(expected, abs=0.5)
    data = found.to_json()
    assert data["effective_depth"]["predicted"] == pytest.approx(expected)
    assert data["blocks_above_1_percent"] == 27
    assert data["blocks"][0]["predicted_share"] == found.blocks[0].predicted_share


def test_a_diagnosis_is_printed_as_a_table_and_named_in_one_line():
    found = diagnose(create_model("zerosnet20_opt", seed=0), images(4), torch.zeros(4, dtype=torch.long))
    effective = found.effective_depth_text()
    assert repr(found) == f"Diagnosis(zerosnet20_opt: {effective})"
    lines = str(found).splitlines()
    assert lines[0] == f"zerosnet20_opt: {effective}; used depth {found.used_depth}"
    assert lines[2].split()[:3] == ["block", "stage", "share"] and len(lines) == 3 + len(found.blocks)
    assert found._repr_html_().count("<tr>") == 1 + len(found.blocks)


@pytest.mark.parametrize("name", ["zerosnet18_opt", "zerosnet20_nonorm"])
def test_networks_that_the_closed_form_is_not_about_have_no_predicted_share(name):
    options = {"scheme": "zerosnet(-9/5)"} if name.endswith("nonorm") else {}
    found = diagnose(create_model(name, seed=0, **options), images(2))
    assert found.effective_depth.predicted is None
    assert found.effective_depth.measured >= 0
    assert all(block.predicted_share is None for block in found.blocks)


def test_the_wiring_of_trained_coefficients_is_that_of_their_present_values():
    model = create_model("zerosnet20_tra", seed=0)
    model.stack.coefficients.values.data[:3] = -0.5
    assert list(wiring_of_network(model).schemes())[2:] == model.schemes()[2:]


def test_the_state_of_the_most_unstable_row_reaches_1e15():
    blocks = diagnose(create_model("zerosnet56", scheme="zerosnet(-1/5)", seed=0), images()).blocks
    assert 1e15 < blocks[-1].state_rms < 1e16
    # both kinds of growth follow the companion matrix
    assert 0.1 < blocks[-1].forward_growth / blocks[-1].forward_envelope < 10
    assert 0.01 < blocks[0].backward_growth / blocks[0].backward_envelope < 10


def test_without_f_growth_is_exactly_the_schemes():
    model = create_model("zerosnet56", scheme="zerosnet(1/4)", stage_change="restart", seed=0)
    for block in model.stack.blocks:
        block.f.conv2.weight.data.zero_()
    blocks = diagnose(model, images(2, 8)).blocks[:9]  # one stage: no projections
    y = [1.0, 1.0, 1.0]
    for _ in range(7):
        y.append(float(np.dot([3.75, -4, 1.25], y[:-4:-1])))
    assert [b.forward_growth for b in blocks[2:]] == pytest.approx(y[3:], rel=1e-6)
    assert all(b.residual_rms == 0 and b.ratio == 0 for b in blocks)


def test_sizes_are_those_of_the_forward_pass():
    model = create_model("zerosnet20_opt", seed=0).double()
    x = images().double()
    found = diagnose(model, x, statistics="batch")
    with torch.no_grad():
        last = copy.deepcopy(model).stack(model.first_state(x))
    assert found.blocks[-1].state_rms == pytest.approx(last.square().mean().sqrt().item(), rel=1e-10)
    assert found.blocks[0].residual_rms <= found.blocks[0].state_rms * 2
    assert found.blocks[-1].backward_growth == 1


def test_growth_is_the_derivative():
    model = create_model("preresnet20", seed=0)
    x = images(2, 16)
    found = diagnose(model, x, statistics="running", seed=3)
    generator = torch.Generator().manual_seed(3)
    torch.randn(2, 10, generator=generator, dtype=torch.float64)  # the direction of the loss comes first
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    network = copy.deepcopy(model).double().eval()
    states = lambda t: tuple(step.state for step in network.walk(t))  # noqa: E731
    _, along = torch.func.jvp(states, (x.double(),), (noise,))
    _, first = torch.func.jvp(network.first_state, (x.double(),), (noise,))
    for block, derivative in zip(found.blocks, along):
        expected = derivative.square().mean().sqrt() / first.square().mean().sqrt()
        assert block.forward_growth == pytest.approx(expected.item(), rel=1e-3)


def test_the_model_stays_as_it_is():
    model = create_model("zerosnet20_tra", seed=0)
    model(images()).sum().backward()
    model.stack.blocks[1].eval()
    model.conv_dtype = torch.bfloat16
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    gradients = [p.grad.clone() for p in model.parameters()]
    modes = [m.training for m in model.modules()]
    diagnose(model, images(), torch.arange(4))
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(torch.equal(a, p.grad) for a, p in zip(gradients, model.parameters(), strict=True))
    assert [m.training for m in model.modules()] == modes
    assert all(p.requires_grad for p in model.parameters())
    assert model.conv_dtype is torch.bfloat16


@pytest.mark.parametrize("network", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("image", [torch.float16, torch.float64, torch.uint8])
def test_networks_and_images_of_any_type_are_diagnosed(network, image):
    found = diagnose(create_model("zerosnet20_opt", seed=0).to(network), images(4, 8).to(image), torch.arange(4))
    assert 0 < found.blocks[-1].state_rms < 1e3
    assert 0 <= found.accuracy <= 1


def test_running_statistics_are_used_if_there_are_any():
    model = create_model("zerosnet20_opt", seed=0)
    assert diagnose(model, images()).statistics == "batch"
    model(images())
    assert diagnose(model, images()).statistics == "running"
    assert diagnose(model, images(), statistics="batch").statistics == "batch"


def test_accuracies_without_f_are_those_of_the_walk():
    model = create_model("zerosnet18_tra", num_classes=3, seed=0).eval()
    x, labels = images(16), torch.arange(16) % 3
    found = diagnose(model, x, labels, statistics="running")
    with torch.no_grad():
        for n in (0, 3, 7):
            *_, last = model.walk(x, silent_from=n)
            expected = (model.logits(last.state).argmax(1) == labels).float().mean().item()
            assert found.blocks[n].accuracy_without == pytest.approx(expected)
        assert found.accuracy == pytest.approx((model(x).argmax(1) == labels).float().mean().item())


@pytest.mark.parametrize(
    "name", ["preresnet20", "lmresnet20", "zerosnet20_stable", "zerosnet164_opt", "zerosnet50_tra"]
)
def test_every_structure_can_be_diagnosed_and_written_as_json(name):
    found = diagnose(create_model(name, seed=0), images(2, 16))
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert len(data["blocks"]) == len(found.blocks) == len(create_model(name).stack.blocks)
    assert data["verdict"] == found.verdict
    assert all(block["state_rms"] > 0 for block in data["blocks"])


def test_adams_bashforth_networks_can_be_diagnosed():
    found = diagnose(create_model("zerosnet20", scheme="adams-bashforth(2)", seed=0), images(2, 16))
    assert found.scheme == Scheme(["1"], ["3/2", "-1/2"])


def test_verdict_counts_blocks_where_their_schemes_differ():
    model = create_model("zerosnet20_tra", seed=0)
    model.stack.coefficients.values.data[:3] = -0.5
    assert diagnose(model, images(2, 16)).verdict == "4 of 7 blocks zero-stable"


@pytest.mark.parametrize("scheme", [row.scheme for row in PAPER_ROWS])
def test_envelopes_of_one_scheme_are_those_of_numerics(scheme):
    ahead, behind = envelopes([EULER, EULER, *[scheme] * 7], [False] * 9)
    expected = envelope(scheme, 7)
    assert ahead == pytest.approx([1, *expected])
    assert behind == pytest.approx([*expected[[7, 7]], *expected[6::-1]])


def test_envelopes_multiply_where_the_history_starts_afresh():
    scheme = Scheme([2, -1], [1])  # 1, 3, 5, ...
    ahead, behind = envelopes([EULER, scheme, scheme, EULER, scheme], [False, False, False, True, False])
    assert ahead == [1, 3, 5, 5, 15]
    assert behind == [15, 9, 3, 3, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"statistics": "best"}, "statistics is 'best'"),
        ({"labels": torch.arange(3)}, r"labels are torch.int64 of shape \(3,\)"),
        ({"labels": torch.zeros(4)}, "labels are torch.float32"),
        ({"images": images(0)}, "at least one"),
        ({"images": images(0), "labels": torch.arange(0)}, "at least one"),
        ({"labels": torch.tensor([0, 1, 2, 10])}, "labels reach"),
        ({"labels": torch.ones(4, dtype=torch.bool)}, "labels are torch.bool"),
        ({"labels": [0, 1, 2, 3]}, "labels are a list; expected a tensor"),
        ({"images": [[0.0]]}, "images are a list; expected a tensor"),
        ({"images": images(4, channels=1)}, "images have shape"),
        ({"model": create_model("zerosnet20_opt", replicas=2)}, "2 replicas"),
        ({"model": create_model("streams20", replicas=2)}, "2 replicas"),
        ({"model": torch.nn.Identity()}, "Identity"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {"model": create_model("zerosnet20_opt"), "images": images(), **change}
    with pytest.raises(InputError, match=message):
        diagnose(**arguments)


def test_labels_may_be_whole_numbers_of_any_size():
    model, small = create_model("zerosnet20_opt", seed=0), torch.arange(4, dtype=torch.int32)
    assert diagnose(model, images(), small) == diagnose(model, images(), small.long())

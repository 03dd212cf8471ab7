"""Any residual network, diagnosed."""

import json
from collections.abc import Callable

import pytest
import torch
from tests.models.reading.networks import NETWORKS
from tests.models.reading.zoo import (
    Gains,
    HyperConnections,
    InTheMiddle,
    PostNorm,
    ScaledBefore,
    WrittenOver,
)
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import WiringDiagnosis, create_model, diagnose, diagnose_network


@pytest.mark.parametrize("name", ["timm vit", "timm resnet v2", "torchvision resnet", "gpt2", "llama", "mhc"])
def test_measured_shares_are_the_predicted_ones_at_initialisation(name: str) -> None:
    network = NETWORKS[name]
    found = diagnose(network.build(), network.example())
    assert isinstance(found, WiringDiagnosis)
    assert found.prediction_error < 0.05
    assert found.effective_depth.measured == pytest.approx(found.effective_depth.predicted, rel=0.05)
    assert found.blocks[-1].backward_gain == pytest.approx(1)
    assert len(found.blocks) == sum(network.counts)


def test_a_diagnosis_is_printed_as_a_table_and_named_in_one_line() -> None:
    found = diagnose(
        HyperConnections(torch.eye(2).repeat(3, 1, 1), torch.ones(3, 2), torch.ones(3, 2) / 2), torch.randn(4, 5, 8)
    )
    assert isinstance(found, WiringDiagnosis)
    depth, total = found.effective_depth, len(found.blocks)
    assert repr(found) == f"WiringDiagnosis(HyperConnections: effective depth {depth.measured:.1f} of {total})"
    lines = str(found).splitlines()
    assert f"effective depth {depth.measured:.1f} of {total} blocks, measured" in lines[0]
    assert lines[1] == f"{depth.predicted:.1f} predicted by the wiring and the measured sizes of the branches"
    assert lines[4].split()[:2] == ["block", "share"]
    assert [line.split()[0] for line in lines[5:]] == [block.name for block in found.blocks]
    html = found._repr_html_()
    assert html.count("<tr>") == total + 1 and "<th>alike</th>" in html


def test_shares_and_sizes_are_those_of_the_tensors() -> None:
    torch.manual_seed(0)
    model, x = Gains([0.5, 1.0], [2.0, 1.0]), torch.randn(4, 5, 8)
    found = diagnose(model, x)
    with torch.no_grad():
        y = model.stem(x)
        added = 2 * model.branches[0](y)
        after = 0.5 * y + added
    first = found.blocks[0]
    rms = lambda t: t.square().mean().sqrt().item()  # noqa: E731
    assert first.branch_rms == pytest.approx(rms(added), rel=1e-5)
    assert first.state_rms == pytest.approx(rms(after), rel=1e-5)
    assert first.share == pytest.approx(rms(added) / rms(after), rel=1e-5)
    cosine = nn.functional.cosine_similarity(added, 0.5 * y, dim=-1).mean().item()
    assert first.cosine == pytest.approx(cosine, abs=1e-5)
    assert first.influence == pytest.approx(
        1 - nn.functional.cosine_similarity(y, after, dim=-1).mean().item(), abs=1e-5
    )


def test_gradients_are_followed_back_exactly_if_branches_are_off() -> None:
    found = diagnose(Gains([0.5, 0.5, 0.5], [0.0, 0.0, 0.0]), torch.randn(4, 5, 8))
    assert [block.backward_gain for block in found.blocks] == pytest.approx([0.25, 0.5, 1.0], rel=1e-5)
    assert [block.forward_gain for block in found.blocks] == pytest.approx([0.5, 0.25, 0.125], rel=1e-3)
    assert [block.wiring_gain for block in found.blocks] == pytest.approx([0.5, 0.25, 0.125], rel=1e-6)


def test_streams_become_alike_under_doubly_stochastic_mixing_and_not_without_any() -> None:
    blocks, m = 6, 4
    torch.manual_seed(0)
    write = torch.eye(m)[torch.arange(blocks) % m]
    read = torch.ones(blocks, m) / m
    mean = torch.full((blocks, m, m), 1 / m)
    x = torch.randn(4, 5, 8)
    mixed = diagnose(HyperConnections(mean, write, read), x)
    apart = diagnose(HyperConnections(torch.eye(m).repeat(blocks, 1, 1), 3 * write, read), x)
    assert mixed.blocks[-1].likeness > 0.9
    assert apart.blocks[-1].likeness < 0.5


def test_a_diagnosis_is_json() -> None:
    found = diagnose(Gains([1.0, 1.0], [1.0, 0.0]), torch.randn(4, 5, 8))
    data = json.loads(json.dumps(found.to_json()))
    assert data["streams"] == 1
    assert data["wiring"][1]["b"] == [0.0]
    assert data["blocks"][0]["name"] == "branches.0"


def test_a_hyper_connection_network_is_diagnosed_in_three_lines() -> None:
    model = HyperConnections(torch.eye(2).repeat(3, 1, 1), torch.ones(3, 2), torch.ones(3, 2) / 2)

    from zerosnet.models import diagnose

    found = diagnose(model, torch.randn(4, 5, 8))
    assert (found.wiring.streams, len(found.blocks), found.wiring.depends_on_input) == (2, 3, False)


def test_wrong_options_are_refused() -> None:
    model, x = Gains([1.0], [1.0]), torch.randn(4, 5, 8)
    with pytest.raises(InputError, match="statistics is 'both'"):
        diagnose(model, x, statistics="both")
    with pytest.raises(InputError, match="labels are given for a network from outside zerosnet"):
        diagnose(model, x, torch.zeros(4))  # type: ignore[call-overload]


def test_batch_norms_keep_their_statistics() -> None:
    network = NETWORKS["timm resnet v2"]
    model = network.build()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert diagnose(model, network.example()).statistics == "batch"
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_as_many_images_as_streams_are_not_taken_for_streams() -> None:
    torch.manual_seed(0)
    model = InTheMiddle(m=4)
    found = [diagnose(model, torch.randn(count, 5, 16)) for count in (4, 3)]
    for diagnosis in found:
        assert [block.name for block in diagnosis.blocks] == ["branches.0", "branches.1", "branches.2"]
        assert min(block.likeness or 0 for block in diagnosis.blocks) > 0.9, "rows add up to 1: copies stay alike"
        assert max(block.share_spread for block in diagnosis.blocks) < 0.2, "features of a token are its last axis"


@pytest.mark.parametrize("build", [ScaledBefore, lambda: PostNorm(6)])
def test_what_scales_the_state_between_blocks_is_counted_once(build: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    model = build()
    width = next(p for p in model.parameters() if p.dim() == 2).shape[1]
    found = diagnose(model, torch.randn(4, 16, width))
    assert found.prediction_error < 0.05


class AddedBranch(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.f = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, y: Tensor) -> Tensor:
        return y + self.f(y)


class Halved(nn.Module):
    def forward(self, y: Tensor) -> Tensor:
        return y / 2


@pytest.mark.parametrize("scaling", [nn.BatchNorm2d(16), Halved()])
def test_what_scales_the_state_after_a_convolution_belongs_to_no_block(scaling: nn.Module) -> None:
    torch.manual_seed(0)
    passage = nn.Sequential(nn.Conv2d(8, 16, 3, 2, padding=1), scaling)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), AddedBranch(8), passage, AddedBranch(16), AddedBranch(16))
    found = diagnose(model, torch.randn(4, 3, 16, 16))
    assert [(float(step.A[0][0]), float(step.b[0])) for step in found.wiring.steps] == [(1.0, 1.0)] * 3
    assert found.prediction_error < 0.05


def test_features_are_the_last_axis_of_images_with_channels_last() -> None:
    found = diagnose(_swin(), torch.randn(2, 3, 32, 32))
    assert len(found.blocks) == 4 and found.wiring.counts == (2, 2)
    assert found.prediction_error < 0.05


def _swin() -> nn.Module:
    from torchvision.models import SwinTransformer

    torch.manual_seed(0)
    return SwinTransformer([2, 2], 16, [1, 1], [2, 4], [4, 4], num_classes=3)


def test_a_network_that_writes_over_its_state_has_no_gradients() -> None:
    found = diagnose(WrittenOver(), torch.randn(4, 5, 16))
    assert all(block.backward_gain != block.backward_gain for block in found.blocks)
    assert all(block["backward_gain"] is None for block in found.to_json()["blocks"])


def test_numbers_that_are_not_finite_are_refused_with_their_place() -> None:
    model = Gains([1.0] * 3, [1.0] * 3)
    with torch.no_grad():
        model.branches[1].down.bias[0] = float("inf")
    with pytest.raises(InputError, match=r"not finite, first by linear in branches\.1\.down"):
        diagnose(model, torch.randn(4, 5, 8))


@pytest.mark.parametrize("name", ["preresnet20_x0", "streams20", "streams20_sinkhorn"])
def test_gradients_are_followed_if_a_network_computes_differently_with_them(name: str) -> None:
    torch.manual_seed(0)
    found = diagnose_network(create_model(name, seed=1), torch.randn(4, 3, 32, 32))
    assert found.statistics == "batch", "it was never trained"
    assert found.prediction_error < 0.1
    gains = [block.backward_gain for block in found.blocks]
    assert len(gains) == 9 and gains[-1] == pytest.approx(1) and gains == sorted(gains, reverse=True)
    assert min(gains) > 0.9
    assert found.blocks[0].likeness is not None

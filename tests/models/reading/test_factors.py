"""Factors of branches and states: norms, gates, gains per channel and position, and what is inside of a branch."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from tests.models.reading.written import WIDTH, Written, tokens
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import diagnose, wiring_of


def normed_by_hand(f: nn.Module, x: Tensor) -> Tensor:
    y = f(x).float().to(x.dtype)
    return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6)


def gated_by_itself(f: nn.Module, x: Tensor) -> Tensor:
    y = f(x)
    return torch.sigmoid(y.mean(1, keepdim=True)) * y


@pytest.mark.parametrize("branch", [normed_by_hand, gated_by_itself])
def test_a_norm_or_a_gate_at_the_end_of_a_branch_is_a_part_of_it(branch: Callable[[nn.Module, Tensor], Tensor]) -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            x = x + 0.5 * branch(f, x)
        return x

    wiring = wiring_of(Written(apply), tokens())
    assert not wiring.depends_on_input
    assert [float(step.b[0]) for step in wiring.steps] == pytest.approx([0.5] * 4)
    assert wiring.names == ("f.0", "f.1", "f.2", "f.3")


def test_a_block_with_branches_side_by_side_is_named_after_them() -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        x = x + (model.f[0](x) + model.f[1](x))
        return x + torch.stack([model.f[2](x), model.f[3](x)]).sum(0)

    assert wiring_of(Written(apply), tokens()).names == ("f.0+f.1", "f.2+f.3")


def test_a_gain_per_channel_on_what_is_kept_counts_with_its_size() -> None:
    gains = torch.tensor([0.1, 0.2, 0.3, 1.5, 0.1, 0.8, 0.2, 1.2])

    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            x = gains.to(x) * x + f(x)
        return x

    x = tokens(64)
    wiring = wiring_of(Written(apply), x)
    assert float(wiring.steps[0].A[0][0]) == pytest.approx(float(gains.mean()))
    kept = float(wiring.in_units_of_branches().steps[0].A[0][0])
    assert kept == pytest.approx(float((gains * x).norm() / x.norm()), rel=1e-2)


def test_shares_after_norms_count_what_a_norm_does_to_the_size_of_the_state() -> None:
    sizes = torch.linspace(0.2, 3, 64)[:, None]

    def apply(model: Written, x: Tensor) -> Tensor:
        x = sizes.to(x) * x
        for f in model.f:
            x = nn.functional.layer_norm(x + f(x), (WIDTH,))
        return x

    model, x = Written(apply), tokens(64)
    before = sizes * x
    summed = before + model.f[0](before)
    wiring = wiring_of(model, x)
    size = (nn.functional.layer_norm(summed, (WIDTH,)).norm() / summed.norm()).item()
    assert float(wiring.steps[0].A[0][0]) < 0.95 * size  # a norm shrinks large tokens and lets small ones grow
    assert float(wiring.steps[0].A[0][0]) * wiring.passage_gains[1] == pytest.approx(size, rel=1e-2)


def test_a_gain_per_position_is_not_computed_from_the_state() -> None:
    gains = torch.linspace(0.1, 2, 5)[:, None]

    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            x = x + gains.to(x) * f(x)
        return x

    wiring = wiring_of(Written(apply), tokens())
    assert not wiring.depends_on_input
    assert {step.over for step in wiring.measured} == {"position or channel"}
    assert [float(step.b[0]) for step in wiring.steps] == pytest.approx([float(gains.mean())] * 4)


def by_frequencies(f: nn.Module, x: Tensor) -> Tensor:
    return torch.fft.ifft2(torch.fft.fft2(f(x)) * (1 + 1j)).real


def test_a_branch_may_be_complex_inside_but_a_state_may_not() -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            x = x + by_frequencies(f, x)
        return x

    def complex_state(model: Written, x: Tensor) -> Tensor:
        y = torch.complex(x, x)
        for f in model.f:
            y = y + torch.view_as_complex(torch.stack([f(y.real), f(y.imag)], -1))
        return y.real

    wiring = wiring_of(Written(apply), tokens())
    assert [float(step.b[0]) for step in wiring.steps] == pytest.approx([1] * 4)
    with pytest.raises(InputError, match="has a complex state or branch"):
        wiring_of(Written(complex_state), tokens())


def test_axes_in_another_order_or_joined_begin_no_stage() -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        x = x + model.f[0](x)
        images = x.unflatten(1, (2, 3))
        images = images + model.f[1](images)
        channels = images.permute(0, 3, 1, 2)
        channels = channels + model.f[2](channels.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return channels.mean((2, 3))

    assert wiring_of(Written(apply), tokens(6)).counts == (3,)


@dataclass
class Output:
    logits: Tensor


def test_a_network_may_return_a_dataclass() -> None:
    class Wrapped(Written):
        def forward(self, x: Tensor) -> Output:  # type: ignore[override]
            return Output(super().forward(x))

    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            x = x + f(x)
        return x

    assert wiring_of(Wrapped(apply), tokens()).names == ("f.0", "f.1", "f.2", "f.3")


def test_gates_that_differ_over_images_count_with_their_sizes_on_all_of_them() -> None:
    gates = torch.tensor([0.1, 0.3, 2.0, 1.5, 0.9, 2.5])[:, None, None]

    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            x = x + gates[: len(x)].to(x) * f(x)
        return x

    x = torch.randn(6, 32, WIDTH, generator=torch.Generator().manual_seed(1))
    first = diagnose(Written(apply), x).blocks[0]
    assert first.predicted_share == pytest.approx(first.share, rel=0.1)

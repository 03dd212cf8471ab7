"""Coefficients of sums are found under the simplest grouping that is exact."""

import pytest
import torch

from zerosnet.models.reading.fit import fit, layouts


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def test_fixed_coefficients_are_found_for_all_entries() -> None:
    x = random(2, 3, 5, 16)
    found = fit((2 * x[0] - 3 * x[1])[None], x, 1e-9)
    assert found.grouping.name == "all"
    assert torch.allclose(found.mean, torch.tensor([[2.0, -3.0]], dtype=torch.float64))
    assert float(found.spread.max()) == 0


def test_coefficients_per_token_have_a_spread() -> None:
    x, weights = random(2, 3, 5, 16), random(3, 5, 1)
    found = fit((weights * x[0] + x[1])[None], x, 1e-9)
    assert found.grouping.name == "token"
    assert torch.allclose(found.values[:, 0, 0], weights.flatten())
    assert torch.allclose(found.spread[0], torch.stack([weights.std(correction=0), torch.tensor(0.0)]).double())


@pytest.mark.parametrize(("shape", "grouping"), [((1, 1, 16), "channel"), ((1, 5, 1, 1), "channel")])
def test_coefficients_per_channel_are_distinguished_from_those_per_token(shape: tuple[int, ...], grouping: str) -> None:
    x = random(2, 3, 5, 16) if len(shape) == 3 else random(2, 3, 5, 4, 4)
    gamma = random(*shape)
    found = fit((x[0] + gamma * x[1])[None], x, 1e-9)
    assert found.grouping.name == grouping
    assert torch.allclose(found.values[:, 0, 1], gamma.flatten())


def test_small_scales_are_measured_against_the_branch_and_not_the_state() -> None:
    x, gamma = random(2, 3, 5, 16), 1e-6 * (1.5 + random(16).tanh() / 2)
    found = fit((x[0] + gamma * x[1])[None], x, 1e-5, branches=1)
    assert found.grouping.name == "channel"
    assert torch.allclose(found.values[:, 0, 1], gamma, rtol=1e-6)


def test_a_product_of_two_tensors_is_not_linear() -> None:
    x = random(2, 3, 5, 16)
    assert fit((x[0] * x[1])[None], x, 1e-6).error > 0.1


@pytest.mark.parametrize("shape", [(4, 3, 5, 16), (3, 4, 5, 16), (3, 5, 4, 16), (12, 5, 16), (3, 5, 64)])
def test_streams_are_found_along_any_axis(shape: tuple[int, ...]) -> None:
    found = layouts(random(*shape), (3, 5, 16))
    assert found
    assert all(tensor.shape == (4, 3, 5, 16) for tensor in found.values())


def test_a_tensor_of_another_shape_has_no_streams() -> None:
    assert not layouts(random(3, 5, 17), (3, 5, 16))

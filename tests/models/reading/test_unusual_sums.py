"""Sums that are written in unusual ways are read as what they do."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.models.reading.written import FULL, WIDTH, Written, tokens
from torch import Tensor, nn

from zerosnet.models import diagnose, wiring_of

DIAGONAL = [[0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]


def mixed_after_the_sum(model: Written, x: Tensor) -> Tensor:
    X = x[:, :, None].repeat(1, 1, 3, 1)
    for f in model.f:
        X = model.matrix @ (X + f(X.mean(2))[:, :, None])
    return X.mean(2)


@pytest.mark.parametrize("length", [3, 5])
@pytest.mark.parametrize("matrix", [DIAGONAL, FULL])
def test_mixing_after_the_sum_is_a_part_of_the_block(matrix: list[list[float]], length: int) -> None:
    found = wiring_of(Written(mixed_after_the_sum, matrix), tokens(length))
    for step, measured in zip(found.steps[:-1], found.measured):
        assert np.array(step.A, dtype=float) == pytest.approx(np.array(matrix), abs=1e-6)
        assert list(step.b) == pytest.approx(np.sum(matrix, axis=1), abs=1e-6)
        assert measured.spread == 0
    assert list(found.read) == pytest.approx(np.mean(matrix, axis=0), abs=1e-6), "the head reads the last mixture"


SUMS = {
    "add": lambda x, f: torch.add(x, f, alpha=0.1),
    "x.add": lambda x, f: x.add(f, alpha=0.1),
    "x.sub": lambda x, f: x.sub(f, alpha=-0.1),
    "scaled twice": lambda x, f: torch.add(x, 0.5 * f, alpha=0.2),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_factor_inside_the_sum_counts_for_the_share(name: str) -> None:
    def one_by_one(add: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Written, Tensor], Tensor]:
        def apply(model: Written, x: Tensor) -> Tensor:
            for f in model.f:
                x = add(x, f(x))
            return x

        return apply

    usual = diagnose(Written(one_by_one(lambda x, f: x + 0.1 * f)), tokens())
    found = diagnose(Written(one_by_one(SUMS[name])), tokens())
    for one, other in zip(found.blocks, usual.blocks):
        assert one.share == pytest.approx(other.share, rel=1e-4) and other.share < 0.1
        assert one.cosine == pytest.approx(other.cosine, abs=1e-4)
        assert one.predicted_share == pytest.approx(other.predicted_share, rel=1e-4)


def signs_per_channel(model: Written, x: Tensor) -> Tensor:
    signs = torch.tensor([1.0, -1.0] * (WIDTH // 2), dtype=x.dtype)
    for f in model.f:
        x = x + signs * f(x)
    return x


def test_gains_of_both_signs_do_not_cancel_in_the_predicted_share() -> None:
    found = diagnose(Written(signs_per_channel), tokens())
    assert [float(step.b[0]) for step in found.wiring.steps] == pytest.approx([0.0] * 4, abs=1e-9), "b is the mean"
    assert found.prediction_error < 0.15
    assert min(found.wiring.predicted_shares()) > 0.2


def momentum(model: Written, x: Tensor) -> Tensor:
    v = torch.zeros_like(x)
    for f in model.f:
        v = 0.9 * v + 0.1 * f(x)
        x = x + v
    return x


def one_stream_full(model: Written, x: Tensor) -> Tensor:
    X = torch.stack([x, 0 * x, 0 * x], 2)
    for f in model.f:
        X = X + f(X.mean(2))[:, :, None]
    return X.mean(2)


@pytest.mark.parametrize("apply", [momentum, one_stream_full])
def test_the_first_state_is_as_large_as_the_stream_that_the_start_is_measured_in(apply) -> None:
    found = diagnose(Written(apply), tokens())
    assert max(found.wiring.start) == 1
    assert found.wiring.stem_size == pytest.approx(float(tokens()[:2].square().mean().sqrt()), rel=0.01)
    assert found.prediction_error < 0.15


def written_into_streams(model: Written, x: Tensor) -> Tensor:
    X = x[:, :, None].repeat(1, 1, 3, 1)
    for n, f in enumerate(model.f):
        X[:, :, n % 3] += f(X.mean(2))
    return X.mean(2)


def new_streams(model: Written, x: Tensor) -> Tensor:
    X = x[:, :, None].repeat(1, 1, 3, 1)
    for n, f in enumerate(model.f):
        place = torch.eye(3, dtype=x.dtype)[n % 3]
        X = X + place[:, None] * f(X.mean(2))[:, :, None]
    return X.mean(2)


def test_gradients_are_followed_through_streams_that_are_written_over() -> None:
    found, usual = (diagnose(Written(apply), tokens()) for apply in (written_into_streams, new_streams))
    gains = [block.backward_gain for block in found.blocks]
    assert gains == pytest.approx([block.backward_gain for block in usual.blocks])
    assert gains[-1] == pytest.approx(1) and gains[0] != pytest.approx(1)


def blended(model: Written, x: Tensor) -> Tensor:
    for f in model.f:
        x = torch.lerp(x, f(x), 0.3)
    return x


def multiplied_and_added(model: Written, x: Tensor) -> Tensor:
    for f in model.f:
        x = torch.addcmul(x, model.matrix[0, 0], f(x), value=0.5)
    return x


@pytest.mark.parametrize(("apply", "keep", "add"), [(blended, 0.7, 0.3), (multiplied_and_added, 1.0, 0.35)])
def test_a_sum_inside_one_operation_is_read(apply, keep: float, add: float) -> None:
    found = diagnose(Written(apply), tokens())
    assert [(float(step.A[0][0]), float(step.b[0])) for step in found.wiring.steps] == [pytest.approx((keep, add))] * 4
    assert found.prediction_error < 0.15


def test_streams_that_are_multiplied_and_added_are_read() -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        X = x[:, :, None].repeat(1, 1, 5, 1)
        for f in model.f:
            X = torch.addcmul(X, model.matrix.flatten()[:5, None], f(X.mean(2))[:, :, None])
        return X.mean(2)

    found = wiring_of(Written(apply), tokens())
    for step in found.steps:
        assert np.array(step.A, dtype=float) == pytest.approx(np.eye(5), abs=1e-6)
        assert list(step.b) == pytest.approx([*FULL[0], *FULL[1][:2]], abs=1e-6)


def read_by_the_mixing(f: nn.Module, mix: Tensor, write: Tensor, X: Tensor) -> Tensor:
    mixed = mix.T @ X
    return write[:, None] * f(mixed[..., 0, :])[..., None, :] + mixed[..., 1:, :]


def joined_before_the_mixing(f: nn.Module, mix: Tensor, write: Tensor, X: Tensor) -> Tensor:
    joined = torch.cat([X, f(mix[:, 0] @ X)[..., None, :]], -2)
    return torch.cat([mix[:, 1:].T, write[:, None]], 1) @ joined


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("block", [read_by_the_mixing, joined_before_the_mixing])
def test_mixing_and_reading_in_one_product_is_read(block: Callable[..., Tensor], m: int) -> None:
    generator = torch.Generator().manual_seed(2)
    mixes = torch.randn(4, m, m + 1, generator=generator, dtype=torch.float64)
    writes = torch.randn(4, m, generator=generator, dtype=torch.float64)

    def apply(model: Written, x: Tensor) -> Tensor:
        X = x[:, :, None].repeat(1, 1, m, 1)
        for f, mix, write in zip(model.f, mixes.to(x.dtype), writes.to(x.dtype)):
            X = block(f, mix, write, X)
        return X.sum(2)

    found = diagnose(Written(apply), tokens()).wiring
    assert found.names == ("f.0", "f.1", "f.2", "f.3")
    for step, mix, write in zip(found.steps, mixes, writes):
        assert np.array(step.A, dtype=float) == pytest.approx(mix[:, 1:].T.numpy(), abs=1e-9)
        assert list(step.b) == pytest.approx(write.tolist(), abs=1e-9)
        assert list(step.c) == pytest.approx(mix[:, 0].tolist() if m > 1 else [1.0], abs=1e-9)


CONSTANTS = {
    "ones_like": torch.ones_like,
    "new_ones": lambda x: x.new_ones(x.shape),
    "to": lambda x: torch.ones(WIDTH).to(x),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_tensor_that_takes_its_form_from_a_state_is_no_branch(name: str) -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        x = model.f[0](x)
        x = x + 0.1 * CONSTANTS[name](x)
        for f in model.f[1:]:
            x = x + f(x)
        return x

    assert wiring_of(Written(apply), tokens()).names == ("f.1", "f.2", "f.3")


def test_a_state_that_is_written_into_new_memory_is_read() -> None:
    def apply(model: Written, x: Tensor) -> Tensor:
        for f in model.f:
            memory = torch.empty_like(x)
            memory[...] = x
            memory += 0.5 * f(x)
            x = memory
        return x

    found = wiring_of(Written(apply), tokens())
    assert found.names == ("f.0", "f.1", "f.2", "f.3")
    assert [(float(step.A[0][0]), float(step.b[0])) for step in found.steps] == [pytest.approx((1.0, 0.5))] * 4


@pytest.mark.parametrize("product", [torch.matmul, lambda mix, X: torch.einsum("mn,btnd->btmd", mix, X)])
def test_a_matrix_may_be_a_parameter_at_any_width(product: Callable[[Tensor, Tensor], Tensor]) -> None:
    lift = torch.randn(WIDTH, 32, generator=torch.Generator().manual_seed(5))

    def apply(model: Written, x: Tensor) -> Tensor:
        X = (x @ lift.to(x.dtype))[:, :, None].repeat(1, 1, 3, 1)
        for f in model.f:
            X = product(model.matrix, X) + f(X.mean(2)[..., :WIDTH]).repeat(1, 1, 4)[:, :, None]
        return X.mean(2)[..., :WIDTH]

    for step in wiring_of(Written(apply), tokens()).steps:
        assert np.array(step.A, dtype=float) == pytest.approx(np.array(FULL), abs=1e-6)


def test_a_branch_that_is_kept_as_a_stream_is_read() -> None:
    def adams(model: Written, x: Tensor) -> Tensor:
        earlier = torch.zeros_like(x)
        for f in model.f:
            new = f(x)
            x, earlier = x + 1.5 * new - 0.5 * earlier, new
        return x

    found = diagnose(Written(adams), tokens())
    assert found.wiring.names == ("f.0", "f.1", "f.2", "f.3")
    step = found.wiring.steps[1]
    np.testing.assert_allclose(np.array(step.A, dtype=float), [[0, 0], [-0.5, 1]], atol=1e-6)
    np.testing.assert_allclose(np.array(step.b, dtype=float), [1, 1.5], atol=1e-6)

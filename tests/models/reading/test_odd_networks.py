"""Networks that do what few networks do: they are read and converted too, or refused for what is odd about them."""

import math
import re

import pytest
import torch
from tests.models.reading.zoo import Branch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import create_model, declared_wiring, diagnose, multistep, wiring_of

WIDTH = 16


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = Branch(WIDTH)

    def forward(self, y: Tensor) -> Tensor:
        return y + self.f(y)


class Chain(nn.Module):
    """A stem, some residual blocks and a head."""

    def __init__(self, blocks: int = 4, block: type[nn.Module] = Residual) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.blocks = nn.ModuleList(block() for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for block in self.blocks:
            y = block(y)
        return self.head(y)


def vectors(count: int = 4) -> Tensor:
    return torch.randn(count, 8, generator=torch.Generator().manual_seed(1))


class WritesIntoItsInput(Chain):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.mul_(2).add_(1))


class Scales(Chain):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(2 * x + 1)


@pytest.mark.parametrize("read", [wiring_of, diagnose, lambda model, x: multistep(model, "leapfrog", example=x)])
def test_a_network_may_write_into_its_input_and_the_example_stays(read) -> None:
    example = vectors()
    read(WritesIntoItsInput(), example)
    assert torch.equal(example, vectors())


def test_every_run_of_a_network_that_writes_into_its_input_sees_the_same_example() -> None:
    written, plain = (diagnose(model, vectors()) for model in (WritesIntoItsInput(), Scales()))
    for one, other in zip(written.blocks, plain.blocks):
        assert one.share == pytest.approx(other.share) and one.backward_gain == pytest.approx(other.backward_gain)
        assert one.forward_gain == pytest.approx(other.forward_gain)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_are_followed_where_the_caller_wants_none(mode) -> None:
    usual = [block.backward_gain for block in diagnose(Chain(), vectors()).blocks]
    model, own = Chain(), create_model("zerosnet20_opt")
    with mode():
        inside = diagnose(model, vectors())
        ours = diagnose(own, torch.rand(4, 3, 32, 32))
        assert not torch.is_grad_enabled()
    assert [block.backward_gain for block in inside.blocks] == pytest.approx(usual)
    assert all(block.backward_growth > 0 for block in ours.blocks)


def test_a_network_that_is_built_in_inference_mode_has_no_gradients() -> None:
    with torch.inference_mode():
        found = diagnose(Chain(), vectors())
    assert all(block.share > 0 and math.isnan(block.backward_gain) for block in found.blocks)


class KeepsPositions(Chain):
    """Builds positions for a batch of a new shape, and keeps them in a buffer."""

    shape: torch.Size | None = None

    def forward(self, x: Tensor) -> Tensor:
        if x.shape != self.shape:
            self.register_buffer("positions", torch.zeros_like(x) + torch.linspace(0, 1, x.shape[-1]))
            self.shape = x.shape
        return super().forward(x + self.positions)


def test_a_network_may_keep_a_cache_for_each_size_of_a_batch() -> None:
    assert len(diagnose(KeepsPositions(), vectors(4)).blocks) == 4


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_network_that_is_converted_where_no_gradients_are_wanted_can_be_trained(mode) -> None:
    model = Chain()
    with mode():
        example = vectors()
        converted = multistep(model, "leapfrog", example=example)
    converted(vectors()).sum().backward()
    assert all(parameter.grad is not None for parameter in converted.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1e-5, 1.0, 3e3])
def test_half_precision_is_diagnosed_as_single_precision_is(dtype: torch.dtype, size: float) -> None:
    """Of the same rounded weights; sizes of 3,000 have squares, and those of 1e-5 norms, that float16 cannot hold."""
    model = Chain()
    with torch.no_grad():
        for parameter in model.stem.parameters():
            parameter.mul_(size)
        for block in model.blocks:
            last = [module for module in block.modules() if isinstance(module, nn.Linear)][-1]
            last.weight.mul_(size)
            last.bias.mul_(size)
    half, example = model.to(dtype), vectors().to(dtype)
    found = diagnose(half, example)
    assert next(half.parameters()).dtype == dtype
    expected = diagnose(half.float(), example.float())
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert one.forward_gain == pytest.approx(other.forward_gain, rel=1e-3)
        assert one.share == pytest.approx(other.share, rel=0.03)
        assert one.share_spread == pytest.approx(other.share_spread, abs=0.02)
        assert one.cosine == pytest.approx(other.cosine, abs=0.02)


def test_a_tensor_that_is_given_twice_stays_one_tensor() -> None:
    class SelfAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f = Branch(8)

        def forward(self, query: Tensor, value: Tensor) -> Tensor:
            assert query is value
            return query + self.f(value)

    x = vectors()
    assert len(wiring_of(SelfAttention(), (x, x)).steps) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"blocks": 3}, "blocks is 3; expected a list of names"),
        ({"blocks": "blocks.0"}, "blocks is 'blocks.0'; expected a list of names"),
        ({"blocks": ["blocks.9"]}, "blocks has 'blocks.9'"),
        ({"blocks": []}, "blocks is empty; expected one name of a module at least"),
        ({"seed": None}, "seed is None; expected a whole number"),
        ({"seed": 1.5}, "seed is 1.5; expected a whole number"),
        ({"seed": 2**70}, "expected a whole number from 0"),
    ],
)
def test_wrong_names_and_seeds_are_refused(given: dict, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        wiring_of(Chain(), vectors(), **given)


def test_a_block_that_is_named_twice_is_read_once() -> None:
    assert wiring_of(Chain(), vectors(), blocks=["blocks.1", "blocks.1"]).names == ("blocks.1.f",)


@pytest.mark.parametrize("read", [wiring_of, diagnose])
def test_an_example_without_entries_is_refused(read) -> None:
    with pytest.raises(InputError, match=r"example is of shape \(0, 8\), without entries"):
        read(Chain(), vectors(0))


def test_a_network_that_sums_nothing_is_refused_unless_blocks_are_named() -> None:
    class Detects(Chain):
        def forward(self, x: Tensor) -> Tensor:
            y = super().forward(x)
            boxes = y[y[:, 0] > 1e9]
            return boxes + boxes.tanh()

    with pytest.raises(InputError, match="Detects sums tensors without entries"):
        wiring_of(Detects(), vectors())
    assert wiring_of(Detects(), vectors(), blocks=["blocks.1"]).names == ("blocks.1.f",)


@pytest.mark.parametrize("read", [wiring_of, diagnose, lambda model, x: multistep(model, "1;1", example=x)])
def test_a_network_without_blocks_is_refused(read) -> None:
    with pytest.raises(InputError, match="Chain has no "):
        read(Chain(0), vectors())


@pytest.mark.parametrize("read", [wiring_of, diagnose, lambda model, x: multistep(model, "1;1", example=x)])
def test_a_network_without_weights_and_a_name_are_refused(read) -> None:
    with torch.device("meta"):
        empty = Chain()
    with pytest.raises(InputError, match="model is Chain on the meta device, without weights; expected one with"):
        read(empty, vectors())
    with pytest.raises(InputError, match=r"model is str; expected a torch\.nn\.Module"):
        read("timm:resnet18", vectors())


def test_declared_wirings_refuse_what_cannot_be_run() -> None:
    timm = pytest.importorskip("timm")
    vit = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=1)
    with pytest.raises(InputError, match=r"fails on the example of shape \(1, 3, 33, 33\)"):
        declared_wiring(vit, torch.zeros(1, 3, 33, 33))
    with pytest.raises(InputError, match=r"model is str; expected a torch\.nn\.Module"):
        declared_wiring("vit", torch.zeros(1))


class TupleOfNothing(Residual):
    def forward(self, y: Tensor) -> tuple[Tensor, None, tuple[None]]:
        return super().forward(y), None, (None,)


class TakesTuples(Chain):
    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for block in self.blocks:
            y, *_ = block(y)
        return self.head(y)


class KeywordOnly(Chain):
    def forward(self, *, x: Tensor) -> Tensor:
        return super().forward(x)


def shared() -> nn.Module:
    model = Chain(2)
    model.blocks = nn.ModuleList([model.blocks[0], model.blocks[0], model.blocks[1]])
    return model


@pytest.mark.parametrize(
    ("build", "example", "blocks"),
    [
        (lambda: TakesTuples(4, TupleOfNothing), vectors(), 4),
        (KeywordOnly, {"x": vectors()}, 4),
        (shared, vectors(), 3),
        (lambda: Chain(1), vectors(), 1),
        (lambda: Chain().train(), vectors(1), 4),
    ],
)
def test_these_are_read_and_converted(build, example, blocks: int) -> None:
    model = build()
    wiring = wiring_of(model, example)
    assert [(step.A, step.b) for step in wiring.steps] == [(((1.0,),), (1.0,))] * blocks
    assert len(diagnose(model, example).blocks) == blocks
    same = multistep(model, "1;1", example=example)
    given = example if isinstance(example, dict) else {"x": example}
    assert torch.equal(same(**given), model(**given))


class Streams(nn.Module):
    def __init__(self, m: int, *, dynamic: bool) -> None:
        super().__init__()
        self.m, self.f = m, nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.mix, self.from_state = nn.Parameter(torch.eye(m).repeat(3, 1, 1)), nn.Linear(8, m) if dynamic else None

    def forward(self, x: Tensor) -> Tensor:
        X = x[:, :, None].repeat(1, 1, self.m, 1)
        for f, mix in zip(self.f, self.mix):
            mix = mix if self.from_state is None else mix + self.from_state(X)
            X = mix @ X + f(X.mean(2))[:, :, None]
        return X.sum(2)


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        (Streams(17, dynamic=False), "sums over 17 entries; at most 16 are read as streams"),
        (Streams(4, dynamic=True), "coefficients of streams have less than 1/4 of the entries of a state"),
    ],
)
def test_an_error_names_the_limit_on_streams(model: nn.Module, limit: str) -> None:
    with pytest.raises(InputError, match=limit):
        wiring_of(model, torch.randn(2, 5, 8))

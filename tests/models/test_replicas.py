"""K networks in one: each replica is the single network, to the bit on the CPU."""

from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models import Config, Network, Structure, combine, create_model, extract
from zerosnet.models.layers import replicated as layers
from zerosnet.models.layers.replicated import Conv
from zerosnet.models.stepping import history, stack
from zerosnet.models.stepping.laws import LambdaLaw, LmLaw, StableLambdaLaw, StableRootsLaw
from zerosnet.numerics import Scheme, adams_bashforth, euler, lm, zerosnet

BASIC, OPENING = Structure("cifar", "basic", (2, 2, 2)), Structure("cifar", "bottleneck", (3, 1, 1))
IMAGENET = Structure("imagenet", "basic", (2, 1, 1, 1))
SEEDS = [11, 22, 33]
START = (Scheme([2, 0, 0], ["1/2"]), Scheme(["1/2", "1/4", 0], [3]))
LAMBDAS = (zerosnet(1), zerosnet("-9/5"), zerosnet(5))


def three(structure: Structure, **fields: object) -> Config:
    return Config(structure, replicas=3, **fields)


CONFIGS = {
    "same scheme": three(BASIC, schemes=(zerosnet("-9/5"),) * 3),
    "own schemes": three(BASIC, schemes=(zerosnet(1), zerosnet("-9/5"), Scheme([1, 1, 1], [1]))),
    "own alphas": three(BASIC, schemes=(euler(1), euler("1/2"), euler("3/2"))),
    "adams-bashforth": three(BASIC, schemes=(adams_bashforth(2), Scheme([1], [1, "1/2"]), adams_bashforth(2))),
    "lm, restart": three(BASIC, schemes=(lm("-1/2"), lm("1/2"), lm(0)), stage_change="restart"),
    "one projection": three(BASIC, schemes=LAMBDAS, stage_change="project-shared"),
    "trained lambda": three(BASIC, law=LambdaLaw(), schemes=LAMBDAS),
    "trained lm": three(BASIC, law=LmLaw(1), stage_change="restart"),
    "stable": three(OPENING, law=StableRootsLaw(), schemes=LAMBDAS),
    "stable, order 2, shared": three(BASIC, law=StableLambdaLaw(), shared=True),
    "bottleneck": three(OPENING, schemes=LAMBDAS),
    "schemes per block": three(BASIC, block_schemes=(LAMBDAS[:1] * 4, (*LAMBDAS, LAMBDAS[0]), LAMBDAS[1:2] * 4)),
    "schemes of all blocks": three(BASIC, block_schemes=tuple((*START, *LAMBDAS, own) for own in LAMBDAS)),
    "growing beta": three(BASIC, schemes=LAMBDAS, beta_growth=(Fraction(3, 2), Fraction(1), 0.5)),
    "no norms": three(Structure("cifar", "fixup", (2, 2, 2)), schemes=LAMBDAS),
    "imagenet": three(IMAGENET, schemes=LAMBDAS, num_classes=7),
}


def fused_and_singles(config: Config, dtype: torch.dtype) -> tuple[Network, list[Network]]:
    singles = [Network(config.of_replica(k), [SEEDS[k]]).to(dtype) for k in range(3)]
    return Network(config, SEEDS).to(dtype), singles


def images(config: Config, dtype: torch.dtype) -> Tensor:
    size = 9 if config.structure.size == "cifar" else 33
    return torch.randn(4, 9, size, size, generator=torch.Generator().manual_seed(0)).to(dtype)


def step(network: nn.Module, x: Tensor) -> Tensor:
    """A training pass; returns the logits of the evaluation that follows it."""
    torch.log_softmax(network.train()(x), -1)[..., 0].sum().backward()
    with torch.no_grad():
        return network.eval()(x)


def gradients(network: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad for name, p in network.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_a_replica_is_the_single_network_to_the_bit(config: Config) -> None:
    fused, singles = fused_and_singles(config, torch.float32)
    x = images(config, torch.float32)
    logits = step(fused, x)
    assert logits.shape == (4, 3, config.num_classes)
    for k, single in enumerate(singles):
        assert torch.equal(step(single, x[:, 3 * k : 3 * k + 3]), logits[:, k])
        assert single.schemes() == fused.schemes()[k]
        for own, theirs in ((single.state_dict(), fused.state_dict()), (gradients(single), gradients(fused))):
            part = extract(theirs, k, 3)
            assert own.keys() == part.keys()
            assert [name for name in own if not torch.equal(own[name], part[name])] == []


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_grouped_convolutions_compute_the_same_in_float64(config: Config) -> None:
    fused, singles = fused_and_singles(config, torch.float64)
    x = images(config, torch.float64)
    logits = step(fused.cuda(), x.cuda()).cpu()
    for k, single in enumerate(singles):
        assert torch.allclose(step(single, x[:, 3 * k : 3 * k + 3]), logits[:, k], rtol=1e-6, atol=1e-6)
        for own, theirs in ((single.state_dict(), fused.state_dict()), (gradients(single), gradients(fused))):
            part = extract({name: t.cpu() for name, t in theirs.items()}, k, 3)
            assert [n for n in own if not torch.allclose(own[n], part[n], rtol=1e-6, atol=1e-6)] == []


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_the_grouped_path_computes_the_same_in_float64(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code that runs on a GPU, on the CPU."""
    fused, singles = fused_and_singles(config, torch.float64)
    x = images(config, torch.float64)
    alone = [step(single, x[:, 3 * k : 3 * k + 3]) for k, single in enumerate(singles)]
    for module in ("layers.replicated", "stepping.history", "stepping.stack"):
        monkeypatch.setattr(f"zerosnet.models.{module}.one_by_one", lambda tensor: False)
    logits = step(fused, x)
    for k, single in enumerate(singles):
        assert torch.allclose(alone[k], logits[:, k], rtol=1e-6, atol=1e-6)
        for own, theirs in ((single.state_dict(), fused.state_dict()), (gradients(single), gradients(fused))):
            part = extract(theirs, k, 3)
            assert [n for n in own if not torch.allclose(own[n], part[n], rtol=1e-6, atol=1e-6)] == []


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_shared_images_give_every_replica_the_bits_it_has_alone(config: Config) -> None:
    fused, singles = fused_and_singles(config, torch.float32)
    x = images(config, torch.float32)[:, :3]
    logits = step(fused, x)
    assert torch.equal(fused(x), fused(x.repeat(1, 3, 1, 1)))
    for k, single in enumerate(singles):
        assert torch.equal(step(single, x), logits[:, k])
        part = extract(gradients(fused), k, 3)
        assert [name for name, own in gradients(single).items() if not torch.equal(own, part[name])] == []


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_shared_images_on_the_grouped_path_too_in_float64(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code that runs on a GPU, on the CPU; there the stem is one ordinary convolution."""
    fused, singles = fused_and_singles(config, torch.float64)
    x = images(config, torch.float64)[:, :3].contiguous(memory_format=torch.channels_last)
    alone = torch.stack([step(single, x) for single in singles], 1)
    for module in ("layers.replicated", "stepping.history", "stepping.stack"):
        monkeypatch.setattr(f"zerosnet.models.{module}.one_by_one", lambda tensor: False)
    groups: list[int] = []
    convolve = torch.nn.functional.conv2d
    monkeypatch.setattr("torch.nn.functional.conv2d", lambda *a, **o: groups.append(o["groups"]) or convolve(*a, **o))
    assert torch.allclose(step(fused, x), alone, rtol=1e-6, atol=1e-6)
    assert groups.count(1) == 2, "the stem, training and testing"


def test_images_of_neither_one_nor_all_replicas_are_refused_in_one_line() -> None:
    fused, single = create_model("zerosnet20_opt", replicas=3), create_model("zerosnet20_opt")
    with pytest.raises(InputError, match=r"expected \(B, 9, H, W\), or \(B, 3, H, W\) for all replicas$"):
        fused(torch.zeros(1, 6, 8, 8))
    with pytest.raises(InputError, match=r"expected \(B, 3, H, W\)$"):
        single(torch.zeros(1, 9, 8, 8))


def test_combine_and_extract_are_inverse() -> None:
    states = [create_model("zerosnet20_tra", seed=seed).state_dict() for seed in SEEDS]
    fused = create_model("zerosnet20_tra", replicas=3)
    fused.load_state_dict(combine(states))
    for k, state in enumerate(states):
        part = extract(fused.state_dict(), k, 3)
        assert all(torch.equal(part[name], tensor) for name, tensor in state.items())


def test_an_integer_seed_counts_up_over_the_replicas() -> None:
    fused = create_model("zerosnet20_opt", replicas=2, seed=5)
    assert torch.equal(extract(fused.state_dict(), 1, 2)["fc.weight"], create_model("zerosnet20_opt", seed=6).fc.weight)


def test_without_a_seed_torch_s_own_decides() -> None:
    torch.manual_seed(3)
    first = create_model("preresnet20").fc.weight
    torch.manual_seed(3)
    assert torch.equal(create_model("preresnet20").fc.weight, first)
    assert not torch.equal(create_model("preresnet20").fc.weight, first)


def test_state_dicts_that_cannot_be_cut_or_joined_are_refused() -> None:
    state = create_model("zerosnet20_opt", replicas=2).state_dict()
    with pytest.raises(InputError, match="from 0 to 1"):
        extract(state, 2, 2)
    with pytest.raises(InputError, match="5 replicas"):
        extract(state, 0, 5)
    with pytest.raises(InputError, match=r"state_dicts\[1\]"):
        combine([create_model("zerosnet20_opt").state_dict(), create_model("preresnet20").state_dict()])
    with pytest.raises(InputError, match="empty"):
        combine([])


@pytest.mark.parametrize(("kernel", "stride"), [(1, 1), (3, 2), (3, 1)])
def test_matrix_products_are_the_grouped_convolution(kernel: int, stride: int) -> None:
    conv = Conv(4, 6, kernel, stride=stride, replicas=3).double()
    torch.nn.init.normal_(conv.weight)
    x = torch.randn(5, 12, 8, 6, dtype=torch.float64).to(memory_format=torch.channels_last)
    grouped = functional.conv2d(x, conv.weight, stride=stride, padding=kernel // 2, groups=3)
    with torch.no_grad():
        product = conv._product(x, conv.weight)
    assert product.shape == grouped.shape and torch.allclose(product, grouped, rtol=1e-12, atol=1e-12)
    assert product.is_contiguous(memory_format=torch.channels_last)


def test_products_are_for_results_only_and_for_channels_that_lie_last() -> None:
    x = torch.randn(2, 12, 8, 6)
    last = x.to(memory_format=torch.channels_last)
    strided, plain, single = (Conv(4, 6, k, stride=s, replicas=3) for k, s in ((3, 2), (3, 1), (1, 1)))
    assert not any(conv.is_product(last) for conv in (strided, plain, single))
    with torch.no_grad():
        assert [conv.is_product(last) for conv in (strided, plain, single)] == [True, False, True]
        assert not strided.is_product(x)


def test_a_compiler_is_given_products_in_the_place_of_projections(monkeypatch: pytest.MonkeyPatch) -> None:
    """With their gradients, which are those of the grouped convolutions."""
    for module in (layers, history, stack):
        monkeypatch.setattr(module, "one_by_one", lambda _: False)
    model = create_model("zerosnet20_opt", replicas=3, seed=[0, 1, 2]).double().to(memory_format=torch.channels_last)
    images = torch.randn(2, 9, 16, 16).double().to(memory_format=torch.channels_last)
    parameters, products = list(model.parameters()), []

    def seen(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> torch.fx.GraphModule:
        products.extend(node for node in graph.graph.nodes if node.target is torch.bmm)
        return graph

    expected = torch.autograd.grad(model(images).square().sum(), parameters)
    found = torch.autograd.grad(torch.compile(model, backend=seen)(images).square().sum(), parameters)
    assert len(products) == 6, "three projections at each of two stage changes"
    for ours, reference in zip(found, expected):
        torch.testing.assert_close(ours, reference)

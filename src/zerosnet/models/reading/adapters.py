"""Wirings that networks declare: a table of classes of known packages, and the matrices that their parameters name.

A declared wiring is what a network should do, `wiring_of` what it does. `difference` tells them apart.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models.reading.calls import Example, check_call, copied_arguments, evaluation, refusing
from zerosnet.numerics import Stage, Step, Wiring


@dataclass(frozen=True)
class DeclaredStep:
    """The numbers of one block; for mixing that depends on the input, the mean over images and tokens."""

    A: Tensor
    b: Tensor
    c: Tensor


Adapter = Callable[[nn.Module, Tensor], list[DeclaredStep]]
"""Takes a block and the state that it was called with."""


def plain(*gains: str | None) -> Adapter:
    """y <- y + gain * f(y), once per gain: the name of a parameter or a module with `gamma`, or None for 1."""

    def adapter(block: nn.Module, state: Tensor) -> list[DeclaredStep]:
        return [_one_stream(1.0, _gain(block, name)) for name in gains]

    return adapter


def hyper_connections(block: nn.Module, state: Tensor, *, constrained: bool = False, folded: bool = True) -> Any:
    """Hyper-connections of the package of that name: alpha and beta, static and from the normalised streams.

    constrained: sigmoids and doubly stochastic mixing. folded: streams are folded into the batch.
    """
    module: Any = block
    if module.num_fracs != 1 or module.num_input_views != 1 or getattr(module, "channel_first", False):
        raise InputError("model has hyper-connections with fractions, several views or channels first; expected none "
                         "of these, or wiring_of, which measures")  # fmt: skip
    m = module.num_residual_streams
    streams = state.unflatten(0, (-1, m)).movedim(1, -2) if folded else state
    normed = module.norm(streams.unsqueeze(-2)).squeeze(-2) if not folded else module.norm(streams)
    if constrained:
        dynamic = torch.einsum("...d,pde->p...e", normed, module.dynamic_alpha_fn)
        scale = torch.cat((module.pre_branch_scale, module.residual_scale.expand(m)))
        alpha = dynamic * scale + module.static_alpha
        mixing = module.residual_mix_constraint_fn(alpha[..., 1:])
        alpha = torch.cat((alpha[..., :1].sigmoid(), mixing), -1).mean(0)
        write = normed @ module.dynamic_beta_fn.reshape(normed.shape[-1]) * module.h_post_scale
        beta = 2 * (write + module.static_beta.flatten()).sigmoid()
    else:
        alpha = module.act(normed @ module.dynamic_alpha_fn) * module.dynamic_alpha_scale + module.static_alpha
        beta = module.act(normed @ module.dynamic_beta_fn) * module.dynamic_beta_scale + module.static_beta
    alpha, beta = (t.flatten(0, -k - 1).mean(0) for t, k in ((alpha, 2), (beta, 1)))
    return [DeclaredStep(alpha[:, 1:].T, beta, alpha[:, 0])]


def deepseek(block: nn.Module, state: Tensor) -> list[DeclaredStep]:
    """The hyper-connection of DeepSeek-V4: it hands out what is written and mixed; what is read is computed here."""
    module: Any = block
    post, comb, _ = module(state)
    m = module.hc_mult
    weights = nn.functional.linear(module.input_norm(state.flatten(2)), module.fn)[..., :m]
    pre = torch.sigmoid(weights * module.scale[0] + module.base[:m]) + module.hc_eps
    A, b, c = (t.flatten(0, 1).mean(0) for t in (comb, post, pre))
    return [DeclaredStep(A.T, b, c)]


def deepseek_head(block: nn.Module, state: Tensor) -> Tensor:
    """The mixture that the head of DeepSeek-V4 reads."""
    module: Any = block
    weights = nn.functional.linear(module.input_norm(state.flatten(2)), module.hc_fn)
    pre = torch.sigmoid(weights * module.hc_scale + module.hc_base) + module.eps
    return pre.flatten(0, 1).mean(0)


ADAPTERS: dict[str, Adapter] = {
    "timm.models.vision_transformer.Block": plain("ls1", "ls2"),
    "timm.models.beit.Block": plain("gamma_1", "gamma_2"),
    "timm.models.convnext.ConvNeXtBlock": plain("gamma"),
    "timm.models.resnetv2.PreActBasic": plain(None),
    "timm.models.resnetv2.PreActBottleneck": plain(None),
    "torchvision.models.resnet.BasicBlock": plain(None),
    "torchvision.models.resnet.Bottleneck": plain(None),
    "torchvision.models.vision_transformer.EncoderBlock": plain(None, None),
    "torchvision.models.convnext.CNBlock": plain("layer_scale"),
    "transformers.models.llama.modeling_llama.LlamaDecoderLayer": plain(None, None),
    "transformers.models.gpt2.modeling_gpt2.GPT2Block": plain(None, None),
    "transformers.models.deepseek_v4.modeling_deepseek_v4.DeepseekV4HyperConnection": deepseek,
    "hyper_connections.hyper_connections.HyperConnections": hyper_connections,
    "hyper_connections.manifold_constrained_hyper_connections.ManifoldConstrainedHyperConnections": partial(
        hyper_connections, constrained=True
    ),
    "hyper_connections.mHCv2.ManifoldConstrainedHyperConnections": partial(
        hyper_connections, constrained=True, folded=False
    ),
}
"""By the full name of a block's class; add entries for classes of your own."""

HEADS: dict[str, Callable[[nn.Module, Tensor], Tensor]] = {
    "transformers.models.deepseek_v4.modeling_deepseek_v4.DeepseekV4HyperHead": deepseek_head,
}
"""What reads several streams in other ways than as their sum."""


def declared_wiring(model: nn.Module, example: Example, adapters: Mapping[str, Adapter] | None = None) -> Wiring:
    """Build the wiring that a network of a known package declares, from its parameters.

    Args:
        adapters: Entries beside those of `ADAPTERS`, by the full name of a block's class.

    Raises:
        InputError: No module of the network is of a class in the table.
    """
    check_call(model, example)
    table = {**ADAPTERS, **(adapters or {})}
    known = {module: kind for module in model.modules() if (kind := _full_name(module)) in {*table, *HEADS}}
    if not any(kind in table for kind in known.values()):
        raise InputError(f"{type(model).__name__} has no block of a known class; expected one of {', '.join(table)}, "
                         "or wiring_of, which measures")  # fmt: skip
    calls: list[_Call] = []
    args, kwargs = copied_arguments(example)
    with torch.no_grad(), evaluation(model), _states_of(known, calls), refusing(model, example):
        model(*args, **kwargs)
    with torch.no_grad():
        blocks = [call for call in calls if known[call.module] in table]
        steps = [(step, call.shape) for call in blocks for step in table[known[call.module]](call.module, call.state)]
        heads = [HEADS[known[call.module]](call.module, call.state) for call in calls if known[call.module] in HEADS]
    read = heads[-1] if heads else torch.ones(len(steps[-1][0].b))
    counts = [len(list(same)) for _, same in groupby(steps, key=lambda pair: pair[1][1:])]
    return Wiring(
        tuple(Step(tuple(map(_row, step.A)), _row(step.b), _row(step.c)) for step, _ in steps),
        _row(read),
        (1.0,) * len(steps[0][0].c),
        tuple(Stage(str(i + 1), count, "each" if i else "none") for i, count in enumerate(counts)),
    )


@dataclass(frozen=True)
class _Call:
    """A module, the state that it was called with, and the shape of the state that it returned."""

    module: nn.Module
    state: Tensor
    shape: torch.Size


@contextmanager
def _states_of(known: Mapping[nn.Module, str], calls: list[_Call]) -> Iterator[None]:
    states: list[Tensor] = []

    def enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        states.append(next(v for v in (*args, *kwargs.values()) if isinstance(v, Tensor)).detach().clone())

    def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        state = states.pop()
        calls.append(_Call(module, state, output.shape if isinstance(output, Tensor) else state.shape))

    hooks = [module.register_forward_pre_hook(enter, with_kwargs=True) for module in known]
    hooks += [module.register_forward_hook(leave) for module in known]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _one_stream(keep: float, add: float) -> DeclaredStep:
    return DeclaredStep(torch.tensor([[keep]]), torch.tensor([add]), torch.ones(1))


def _gain(block: nn.Module, name: str | None) -> float:
    """Read the mean of a scale per channel; 1 if there is none."""
    found = None if name is None else getattr(block, name)
    scale = getattr(found, "gamma", None) if isinstance(found, nn.Module) else found
    return 1.0 if scale is None else float(scale.detach().double().mean())


def _full_name(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _row(values: Tensor) -> tuple[float, ...]:
    return tuple(values.double().tolist())

"""Call a foreign network, with an example of what it takes, and leave no trace in it.

The example, modes, buffers and random numbers are afterwards what they were.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from zerosnet.errors import ExampleError, InputError
from zerosnet.files import is_whole
from zerosnet.models.layers.replicated import BatchNorm

Example = Tensor | Sequence[Any] | Mapping[str, Any]
_REPEATED = 1e-3
"""Outputs of two runs that differ by more, relative to their size, are not those of one computation."""

BatchNorms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, BatchNorm)


@contextmanager
def evaluation(model: nn.Module, statistics: str = "running") -> Iterator[None]:
    """Evaluation mode, no random numbers used up, every module back in its own mode and with its buffers afterwards.

    The network writes to copies of its buffers, so one that counts its calls there begins anew every time.
    """
    modes = {module: module.training for module in model.modules()}
    devices = sorted({p.device.index for p in model.parameters() if p.is_cuda and p.device.index is not None})
    norms = [module for module in modes if isinstance(module, BatchNorms) and statistics == "batch"]
    kept = [(norm.momentum, getattr(norm, "num_batches_tracked", None)) for norm in norms]
    with torch.random.fork_rng(devices=devices), _copied_buffers(model):
        try:
            _switch_to_evaluation(model)
            for norm in norms:
                norm.training = True
                norm.momentum = 0.0
                if not isinstance(norm, BatchNorm):
                    norm.num_batches_tracked = None  # not counted
            yield
        finally:
            for module, mode in modes.items():
                module.training = mode
            for norm, (momentum, counted) in zip(norms, kept):
                norm.momentum = momentum
                if not isinstance(norm, BatchNorm):
                    norm.num_batches_tracked = counted


@contextmanager
def _copied_buffers(model: nn.Module) -> Iterator[None]:
    held = [(module, name, tensor) for module in model.modules() if not isinstance(module, torch.jit.ScriptModule)
            for name, tensor in module._buffers.items() if tensor is not None]  # fmt: skip
    copies = {id(tensor): tensor.detach().clone() for _, _, tensor in held}  # a buffer that is shared stays one
    for module, name, tensor in held:
        module._buffers[name] = copies[id(tensor)]
    try:
        yield
    finally:
        for module, name, tensor in held:
            if module._buffers.get(name) is copies[id(tensor)]:  # a new one, such as a longer table, stays
                module._buffers[name] = tensor


def _switch_to_evaluation(model: nn.Module) -> None:
    try:
        model.eval()
    except NotImplementedError as error:  # of what torch.export makes
        raise InputError(f"model is {type(model).__name__}, which has no evaluation mode ({error}); expected a network "
                         "before torch.export") from None  # fmt: skip


def untrained_batch_norms(model: nn.Module) -> bool:
    """Check if a network has batch norms, all of which have never seen a batch."""
    norms = [module for module in model.modules() if isinstance(module, BatchNorms)]
    seen = [n for n in norms if n.running_mean is not None and n.running_var is not None
            and bool(n.running_mean.any() or (n.running_var != 1).any())]  # fmt: skip
    return bool(norms) and not seen


def arguments(example: Example) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split an example into positional and keyword arguments."""
    if isinstance(example, Tensor):
        return (example,), {}
    if isinstance(example, Mapping):
        return (), dict(example)
    if isinstance(example, Sequence) and not isinstance(example, str):
        return tuple(example), {}
    raise InputError(f"example is {type(example).__name__}; expected a tensor, a tuple of arguments or a dictionary")


def copied_arguments(example: Example) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split an example into arguments that are copies, so that a network may write into them."""
    copies: dict[int, Tensor] = {}  # a tensor that stands twice stays one

    def copied(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if id(value) not in copies:
            copies[id(value)] = value.detach().clone().requires_grad_(value.requires_grad)
        return copies[id(value)]

    args, kwargs = arguments(example)
    return tuple(tree_map(copied, value) for value in args), {name: tree_map(copied, kwargs[name]) for name in kwargs}


def require_weights(model: Any) -> None:
    """Refuse what is no network, and a network without weights."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model is {type(model).__name__}; expected a torch.nn.Module")
    if any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers())):
        raise InputError(f"model is {type(model).__name__} on the meta device, without weights; expected one with "
                         "weights, on a CPU or GPU")  # fmt: skip
    scripted = next((name for name, m in model.named_modules() if isinstance(m, torch.jit.ScriptModule)), None)
    if scripted is not None:
        place = f"has the scripted module {scripted!r}" if scripted else "is scripted"
        raise InputError(f"model is {type(model).__name__}, which {place}, so that what it does cannot be watched; "
                         "expected a network before torch.jit.script and torch.jit.trace")  # fmt: skip


def check_call(model: Any, example: Example, seed: Any = 0) -> None:
    """Refuse what is no network, an example without entries, and a seed that is no whole number."""
    require_weights(model)
    tensors = list(tensors_of(arguments(example)))
    if tensors and not any(tensor.numel() for tensor in tensors):
        raise InputError(f"example is {describe(example)}, without entries; expected one image or text at least")
    if not is_whole(seed) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}; expected a whole number from 0 to 2^63 - 1")


def draws_chance(model: nn.Module, example: Example, statistics: str = "running") -> bool:
    """Run a network twice in evaluation mode, and check if it draws random numbers.

    Raises:
        InputError: It computes something else the second time, with the same random numbers.
    """
    first, drawn = _outputs(model, example, statistics)
    weights = [(name, p, p._version) for name, p in model.named_parameters() if not p.is_inference()]
    second, _ = _outputs(model, example, statistics)
    changed = next((name for name, p, version in weights if p._version != version), None)  # every time, not just once
    if changed is not None:
        raise InputError(f"{type(model).__name__} changes its parameter {changed} while it runs; expected a network "
                         "that leaves its weights as they are in evaluation mode")  # fmt: skip
    same = [a.shape == b.shape and _is_near(a, b) for a, b in zip(first, second)]
    if len(first) != len(second) or not all(same):
        raise InputError(
            f"{type(model).__name__} does not run the same way twice, with the same example and random numbers; "
            "expected a network that keeps no count of its calls, with the random numbers of torch alone"
        )
    return drawn


def _outputs(model: nn.Module, example: Example, statistics: str) -> tuple[list[Tensor], bool]:
    """Run a network; list copies of what it returns, and check if it drew random numbers."""
    args, kwargs = copied_arguments(example)
    with evaluation(model, statistics), torch.no_grad(), refusing(model, example):
        before = torch.get_rng_state()
        result = model(*args, **kwargs)
        drawn = not torch.equal(before, torch.get_rng_state())
    return [tensor.detach().clone() for tensor in tensors_of(result)], drawn


def _is_near(one: Tensor, other: Tensor) -> bool:
    """Check if two tensors are the same up to the order of sums; infinities and what is no number may stand in both."""
    if not one.is_floating_point() or not one.numel():
        return True
    both = one.isfinite() & other.isfinite()
    a, b = (torch.where(both, tensor, 0).double() for tensor in (one, other))
    return float((a - b).norm()) <= _REPEATED * float(a.norm())


@contextmanager
def refusing(model: nn.Module, example: Example) -> Iterator[None]:
    """Turn whatever a foreign network raises on an example into an `InputError`."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ExampleError(type(model).__name__, describe(example), f"{type(error).__name__}: {reason}") from error


def describe(example: Example) -> str:
    """Name the shapes of an example."""
    shapes = [tuple(tensor.shape) for tensor in tensors_of(arguments(example))]
    return f"of shape {shapes[0]}" if len(shapes) == 1 else f"of shapes {shapes}"


def tensors_of(values: Any) -> Iterator[Tensor]:
    """List the tensors in nested values."""
    for leaf in tree_leaves(values):
        if isinstance(leaf, Tensor):
            yield leaf
        elif isinstance(leaf, Mapping):  # of a kind that torch does not know
            yield from tensors_of(dict(leaf))
        elif is_dataclass(leaf) and not isinstance(leaf, type):
            yield from tensors_of([getattr(leaf, field.name, None) for field in fields(leaf)])

"""Call a foreign network, with an example of what it takes, and leave no trace in it.

The example, modes, statistics of batch norms and random numbers are afterwards what they were.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from zerosnet.errors import ExampleError, InputError
from zerosnet.files import is_whole
from zerosnet.models.layers.replicated import BatchNorm

Example = Tensor | Sequence[Any] | Mapping[str, Any]
BatchNorms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, BatchNorm)


@contextmanager
def evaluation(model: nn.Module, statistics: str = "running") -> Iterator[None]:
    """Evaluation mode, no random numbers used up, every module back in its own mode afterwards."""
    modes = {module: module.training for module in model.modules()}
    norms = [module for module in modes if isinstance(module, BatchNorms) and statistics == "batch"]
    kept = [(norm.momentum, getattr(norm, "num_batches_tracked", None)) for norm in norms]
    with torch.random.fork_rng(devices=[]):
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


def check_call(model: Any, example: Example, seed: Any = 0) -> None:
    """Refuse what is no network, an example without entries, and a seed that is no whole number."""
    require_weights(model)
    tensors = list(tensors_of(arguments(example)))
    if tensors and not any(tensor.numel() for tensor in tensors):
        raise InputError(f"example is {describe(example)}, without entries; expected one image or text at least")
    if not is_whole(seed) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}; expected a whole number from 0 to 2^63 - 1")


def draws_chance(model: nn.Module, example: Example, statistics: str = "running") -> bool:
    """Run a network in evaluation mode, and check if it draws random numbers."""
    args, kwargs = copied_arguments(example)
    with evaluation(model, statistics), torch.no_grad(), refusing(model, example):
        before = torch.get_rng_state()
        model(*args, **kwargs)
        return not torch.equal(before, torch.get_rng_state())


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

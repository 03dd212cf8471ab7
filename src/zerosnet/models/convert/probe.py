"""Find the blocks of an unknown network that are steps y -> y + f(y) and keep the shape, by running it once.

Names and attributes say little (`downsample is None` in one family, a stride in another), so the network is run on an
example and every child of an `nn.Sequential` or an `nn.ModuleList` is looked at: what shape comes in and what goes
out, and, in autograd's record of the block, whether the input itself is a term of a sum. That sum is what makes a
block residual, whether an activation follows it or not; a convolution, an activation or a plain MLP that keeps the
shape has none.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from zerosnet.errors import InputError
from zerosnet.models.convert.stage import Path, Place, replaced, tensors_in
from zerosnet.models.reading.calls import Example, copied_arguments, describe, evaluation

_SIDE = 64  # of images for networks that do not declare their input size


Chains = dict[str, tuple[Place | None, ...]]
"""By the name of a sequence or list, for each child the place of its state if it is a residual block, else None."""


def residual_chains(model: nn.Module, example: Example) -> Chains:
    """Find the sequences and lists of modules that hold residual blocks, by name.

    If chains lie inside the blocks of a chain, only the inner ones count. A sequence that stands under several names
    is found under each of them.
    """
    sequences = {
        name: list(module)  # one may stand several times
        for name, module in model.named_modules(remove_duplicate=False)
        if type(module) is nn.ModuleList
        or (isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward)
    }
    looks = {module: _Look(module) for children in sequences.values() for module in children}
    args, kwargs = copied_arguments(example)
    with ExitStack() as stack:
        stack.enter_context(evaluation(model))
        stack.enter_context(torch.enable_grad())
        for look in looks.values():
            stack.enter_context(look.watching())
        try:
            model(*args, **kwargs)
        except Exception as error:  # whatever a foreign network may raise
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"{type(model).__name__} fails on an example {describe(example)} ({type(error).__name__}: {reason}); "
                "expected example=, a batch that it takes"
            ) from None
    chains = {name: tuple(looks[module].place for module in children) for name, children in sequences.items()}
    chains = {name: places for name, places in chains.items() if any(place is not None for place in places)}
    return {
        name: places
        for name, places in chains.items()
        if not any(inner != name and inner.startswith(f"{name}." if name else "") for inner in chains)
    }


def example_for(model: nn.Module) -> Tensor:
    """Two inputs of the size that a network seems made for, on its device and in its type."""
    first = next((m for m in model.modules() if isinstance(m, nn.Conv2d | nn.Linear)), None)
    if first is None:
        raise InputError(f"{type(model).__name__} has no convolution and no linear layer; expected example=, a batch")
    like = first.weight
    if isinstance(first, nn.Linear):
        return torch.zeros(2, first.in_features, device=like.device, dtype=like.dtype)
    return torch.zeros(2, first.in_channels, *_image_size(model), device=like.device, dtype=like.dtype)


def _image_size(model: nn.Module) -> tuple[int, int]:
    """Find the image size that a network needs (patches, timm, transformers, torchvision); else a small one."""
    config = getattr(model, "pretrained_cfg", None) or {}
    embedded = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if embedded:
        return embedded[0], embedded[1]
    if config.get("fixed_input_size"):
        return config["input_size"][-2], config["input_size"][-1]
    side = _configured_size(model) or getattr(model, "image_size", _SIDE)
    return (side, side) if isinstance(side, int) else (side[0], side[1])


def _configured_size(model: nn.Module) -> Any:
    """Read the image size in a configuration as transformers has them, or in the part of it that is for images."""
    config: Any = getattr(model, "config", None)
    vision: Any = getattr(config, "vision_config", None)
    return getattr(config, "image_size", None) or getattr(vision, "image_size", None)


@dataclass
class _Look:
    """A record of all calls of one child of a sequence."""

    module: nn.Module
    calls: list[Place | None] = field(default_factory=list)
    _inputs: list[dict[Path, tuple[Tensor, Node | None]]] = field(default_factory=list)

    @property
    def place(self) -> Place | None:
        """The place of the state, if it is the same in all calls."""
        return self.calls[0] if self.calls and len(set(self.calls)) == 1 else None

    @contextmanager
    def watching(self) -> Iterator[None]:
        hooks = (
            self.module.register_forward_pre_hook(self._enter, with_kwargs=True),
            self.module.register_forward_hook(self._leave, with_kwargs=True),
        )
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Mark the inputs in autograd's record: by copies, into which the block may even write."""
        marked: dict[Path, tuple[Tensor, Node | None]] = {}
        given: Any = (args, kwargs)
        if next(module.parameters(), None) is not None:
            for path, tensor in list(tensors_in(given)):
                if tensor.is_floating_point() and tensor.dim() > 1:
                    y = (tensor if tensor.requires_grad else tensor.detach().requires_grad_()).clone()
                    marked[path] = (y, y.grad_fn)
                    given = replaced(given, path, y)
        self._inputs.append(marked)
        return given

    def _leave(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        marked = self._inputs.pop()
        found = (
            Place(given, returned, written=y.grad_fn is not mark)
            for returned, tensor in tensors_in(output)
            for given, (y, mark) in marked.items()
            if mark is not None and tensor.shape == y.shape and _is_sum_with(mark, tensor.grad_fn)
        )
        self.calls.append(next(found, None))


def _is_sum_with(mark: Node, output: Node | None) -> bool:
    """Check if a function of the marked input is added to it, or taken from it, on the way to the output."""
    for node in _before(output, mark):
        terms = [term for term, _ in node.next_functions]
        taken_from = node.name().startswith("SubBackward") and terms[0] is mark
        if taken_from or (node.name().startswith("Add") and mark in terms):
            others = [term for term in terms if term is not None and term is not mark]
            if any(mark in _before(other, mark) for other in others):
                return True
    return False


def _before(node: Node | None, stop: Node) -> set[Node]:
    """The node and all that came before it, down to `stop`."""
    seen: set[Node] = set()
    open_nodes: list[Node | None] = [node]
    while open_nodes:
        found = open_nodes.pop()
        if found is not None and found not in seen:
            seen.add(found)
            open_nodes += [] if found is stop else [earlier for earlier, _ in found.next_functions]
    return seen

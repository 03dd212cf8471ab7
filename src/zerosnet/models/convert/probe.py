"""Find the blocks of an unknown network that are steps y -> y + f(y) and keep the shape, by running it once.

Names and attributes say little (`downsample is None` in one family, a stride in another), so the network is run on an
example and every child of an `nn.Sequential` is looked at: what shape comes in and what goes out, and, in autograd's
record of the block, whether the input itself is a term of a sum. That sum is what makes a block residual, whether an
activation follows it or not; a convolution, an activation or a plain MLP that keeps the shape has none.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from zerosnet.errors import InputError

_SIDE = 64  # of images for networks that do not say what they are made for


def residual_chains(model: nn.Module, example: Tensor) -> dict[str, tuple[bool, ...]]:
    """Find the `nn.Sequential`s that hold residual blocks, by name, and for each child whether it is one.

    If chains lie inside the blocks of a chain, only the inner ones count. A sequence that stands under several names
    is found under each of them.
    """
    sequences = {
        name: list(module)
        for name, module in model.named_modules(remove_duplicate=False)
        if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward
    }
    looks = {module: _Look(module) for children in sequences.values() for module in children}
    with ExitStack() as stack:
        stack.enter_context(_evaluation(model))
        for look in looks.values():
            stack.enter_context(look.watching())
        try:
            model(example)
        except Exception as error:  # whatever a foreign network may raise
            shape, reason = tuple(example.shape), " ".join(str(error).split())[:200]
            raise InputError(
                f"{type(model).__name__} fails on an example of shape {shape} ({type(error).__name__}: {reason}); "
                "expected example=, a batch that it takes"
            ) from None
    chains = {name: tuple(looks[module].is_step for module in children) for name, children in sequences.items()}
    chains = {name: steps for name, steps in chains.items() if any(steps)}
    return {
        name: steps
        for name, steps in chains.items()
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
    """Find the image size that a network needs (patches, timm's or torchvision's attribute); else a small one."""
    config = getattr(model, "pretrained_cfg", None) or {}
    embedded = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if embedded:
        return embedded[0], embedded[1]
    if config.get("fixed_input_size"):
        return config["input_size"][-2], config["input_size"][-1]
    side = getattr(model, "image_size", _SIDE)
    return side, side


@dataclass
class _Look:
    """A record of all calls of one child of a sequence."""

    module: nn.Module
    calls: list[bool] = field(default_factory=list)
    _inputs: list[tuple[Tensor, Node]] = field(default_factory=list)

    @property
    def is_step(self) -> bool:
        return bool(self.calls) and all(self.calls)

    @contextmanager
    def watching(self) -> Iterator[None]:
        hooks = (self.module.register_forward_pre_hook(self._enter), self.module.register_forward_hook(self._leave))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _enter(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Mark the input in autograd's record: by a copy, into which the block may even write."""
        takes_state = len(args) == 1 and isinstance(args[0], Tensor) and args[0].is_floating_point()
        if not takes_state or next(module.parameters(), None) is None:
            self.calls.append(False)
            return None
        y = (args[0] if args[0].requires_grad else args[0].detach().requires_grad_()).clone()
        self._inputs.append((y, y.grad_fn))
        return (y,)

    def _leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if self._inputs:
            y, mark = self._inputs.pop()
            unwritten = y.grad_fn is mark
            kept = isinstance(output, Tensor) and output.shape == y.shape
            self.calls.append(kept and unwritten and _is_sum_with(mark, output.grad_fn))


def _is_sum_with(mark: Node, output: Node) -> bool:
    """Check if the marked input itself is added to a function of it somewhere on the way to the output."""
    for node in _before(output, mark):
        terms = [term for term, _ in node.next_functions]
        if node.name().startswith("Add") and mark in terms:
            others = [term for term in terms if term is not None and term is not mark]
            if any(mark in _before(other, mark) for other in others):
                return True
    return False


def _before(node: Node, stop: Node) -> set[Node]:
    """The node and all that came before it, down to `stop`."""
    seen: set[Node] = set()
    open_nodes: list[Node | None] = [node]
    while open_nodes:
        found = open_nodes.pop()
        if found is not None and found not in seen:
            seen.add(found)
            open_nodes += [] if found is stop else [earlier for earlier, _ in found.next_functions]
    return seen


@contextmanager
def _evaluation(model: nn.Module) -> Iterator[None]:
    """Evaluation mode with gradients, no random numbers used up, every module back in its own mode afterwards."""
    modes = {module: module.training for module in model.modules()}
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        model.eval()
        try:
            yield
        finally:
            for module, mode in modes.items():
                module.training = mode

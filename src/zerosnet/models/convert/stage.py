"""A chain of residual blocks of any network, advanced by a multistep scheme.

With f(y) = block(y) - y and z_n = block(y_n), the scheme is a weighted sum of states and block outputs,

    y_{n+1} = sum_i alphas[i] y_{n-i} + sum_j betas[j] f(y_{n-j})
            = betas[0] z_n + sum_i (alphas[i] - betas[i]) y_{n-i} + sum_{j>0} betas[j] z_{n-j},

so that a one-step block of Euler's is z_n itself, to the bit.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zerosnet.models.stepping.history import accumulate
from zerosnet.numerics import Scheme

Path = tuple[Any, ...]
"""Keys and indices that lead to a tensor; () is the value itself."""


class Place(NamedTuple):
    """Paths to the state in a block's arguments (args, kwargs) and in its result, and whether it is written over."""

    given: Path = (0, 0)
    returned: Path = ()
    written: bool = False


def tensors_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Tensor]]:
    """List the tensors in nested tuples, lists and dictionaries, with their paths."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors_in(item, (*path, key))
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from tensors_in(item, (*path, index))


def taken(value: Any, path: Path) -> Any:
    """Return what is at the end of a path."""
    for key in path:
        value = value[key]
    return value


def replaced(value: Any, path: Path, new: Any) -> Any:
    """Copy a nested value with something else at the end of a path."""
    if not path:
        return new
    first, *rest = path
    inner = replaced(value[first], tuple(rest), new)
    if isinstance(value, Mapping):
        items = {**value, first: inner}
        return items if type(value) is dict else type(value)(**items)  # such as the outputs of transformers
    changed = [inner if index == first else item for index, item in enumerate(value)]
    return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)


class Past(NamedTuple):
    """The history that later blocks read, newest first: states y_{n-1}, ... and block outputs z_{n-1}, ..."""

    states: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()


class MultistepStage(nn.Module):
    """Blocks one after the other, like an `nn.Sequential` with the same names, advanced by a scheme.

    residual  for every block, whether it is a step of the scheme. The history restarts at one that is not (it changes
              the shape of the state), and a step is one-step, y_{n+1} = block(y_n), until enough states exist
    places    for every block, where its state is in what it takes and returns
    """

    def __init__(
        self,
        blocks: Mapping[str, nn.Module],
        residual: Sequence[bool],
        scheme: Scheme,
        places: Sequence[Place] | None = None,
    ) -> None:
        super().__init__()
        for name, block in blocks.items():
            self.add_module(name, block)
        self.residual, self.scheme = tuple(residual), scheme
        self.places = tuple(places) if places is not None else (Place(),) * len(self.residual)
        self.watch: set[nn.Module] | None = None
        """Collects blocks that were advanced, while a conversion is checked, and the stage if one was called twice."""
        pairs = zip_longest(scheme.alphas, scheme.betas, fillvalue=0)
        self._alphas = tuple(float(alpha - beta) for alpha, beta in pairs)
        self._betas = tuple(map(float, scheme.betas))

    def forward(self, y: Tensor) -> Tensor:
        past = Past()
        for index in range(len(self)):
            y, past = self.advance(index, past, y)
        return y

    def advance(self, index: int, past: Past, *args: Any, **options: Any) -> tuple[Any, Past]:
        """(what block n returns with y_{n+1} in it, what the next block looks back on), from what it takes."""
        place, state = self.places[index], None
        if self.residual[index] and place.written:  # such as x += f(x)
            state = taken((args, options), place.given)
            args, options = replaced((args, options), place.given, state.clone())
        result = self[index](*args, **options)
        if self.watch is not None:
            self.watch.add(self[index])
        if not self.residual[index]:
            return result, Past()
        y = taken((args, options), place.given) if state is None else state
        z = taken(result, place.returned)
        states, outputs = (y, *past.states), (z, *past.outputs)
        if len(states) < self.scheme.steps:
            return result, Past(states, outputs[: len(self._betas) - 1])
        y, states = self._combine(states, outputs)
        return replaced(result, place.returned, y), Past(
            states[: self.scheme.steps - 1], outputs[: len(self._betas) - 1]
        )

    def _combine(self, states: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The sum, and the states to hand on in place of these. It is taken in the widest type among its terms."""
        terms = [(a, y) for a, y in zip(self._alphas, states) if a] + list(zip(self._betas[1:], outputs[1:]))
        z, beta = outputs[0], self._betas[0]
        if not terms and beta == 1:
            return z, states
        dtype = reduce(torch.promote_types, (tensor.dtype for _, tensor in terms), z.dtype)
        total, handed = accumulate(beta * z.to(dtype), [c for c, _ in terms], [tensor for _, tensor in terms], 1)
        fresh = iter(handed)
        return total, tuple(next(fresh) if a else y for a, y in zip(self._alphas, states))

    # -- what an nn.Sequential can do ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> "Iterator[StageStep]":
        """The steps of one pass, for callers that go through the blocks themselves, y = step(y) for each."""
        pasts: dict[int, tuple[Past, bool]] = {}
        return (StageStep(self, index, pasts) for index in range(len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        """A block as it is, or a part of the stage."""
        names = list(self._modules)
        if isinstance(index, int):
            return self._modules[names[index]]
        blocks = {name: getattr(self, name) for name in names[index]}
        part = type(self)(blocks, self.residual[index], self.scheme, self.places[index])
        part.training = self.training
        part.watch = self.watch
        return part

    def extra_repr(self) -> str:
        return f"scheme={self.scheme}, residual={self.residual}"


class BranchStage(MultistepStage):
    """Branches f that the network adds itself, y = y + f(y): they return what makes this sum a step of the scheme."""

    def advance(self, index: int, past: Past, *args: Any, **options: Any) -> tuple[Any, Past]:
        """(y_{n+1} - y_n, what the next branch looks back on); with Euler's scheme f itself."""
        f = self[index](*args, **options)
        if self.watch is not None:
            self.watch.add(self[index])
        y = args[0].clone() if self.places[index].written else args[0]
        z = y + f
        states, outputs = (y, *past.states), (z, *past.outputs)
        if len(states) < self.scheme.steps:
            return f, Past(states, outputs[: len(self._betas) - 1])
        new, states = self._combine(states, outputs)
        return f if new is z else new - y, Past(states[: self.scheme.steps - 1], outputs[: len(self._betas) - 1])


class StageStep:
    """Block `index` as one step of a pass in which every block is called once, in order; otherwise like the block.

    What a step looks back on is kept until the pass is forgotten, so that it can be computed again (checkpointing).
    """

    def __init__(self, stage: MultistepStage, index: int, pasts: dict[int, tuple[Past, bool]]) -> None:
        self._stage, self._index, self._pasts = stage, index, pasts

    def __call__(self, *args: Any, **options: Any) -> Any:
        past, graph = self._pasts.get(self._index, (Past(), True))
        if torch.is_grad_enabled() and not graph:
            raise RuntimeError("the history has no gradients: checkpoint with use_reentrant=False, as timm's default")
        if self._stage.watch is not None and self._index + 1 in self._pasts:  # no gradients, so nothing is recomputed
            self._stage.watch.add(self._stage)
        result, past = self._stage.advance(self._index, past, *args, **options)
        self._pasts[self._index + 1] = past, torch.is_grad_enabled()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage[self._index], name)

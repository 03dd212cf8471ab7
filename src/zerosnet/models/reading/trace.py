"""Watch a network run: which tensor is made of which, by what operation, in which module.

Every call of a function of torch that returns tensors makes vertices, numbered in the order of the run. A network in
evaluation mode makes the same calls each time, so the number of a vertex is an address: a later run can look at the
tensor there, or add something to it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from zerosnet.errors import InputError
from zerosnet.models.reading.calls import Example, copied_arguments, evaluation, refusing, tensors_of


def words(text: str) -> frozenset[str]:
    """Split a text into the set of its words."""
    return frozenset(text.split())


RETURNS_ITS_ARGUMENT = words(
    "to contiguous float double half bfloat16 type type_as cpu cuda requires_grad_ reshape expand expand_as "
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout detach_ _assert"
)
"""Operations that may hand back the tensor that they were given, unchanged."""

TAKES_ITS_FORM = words("to type_as view_as reshape_as expand_as")
"""Operations that take numbers from their first argument; from another one they take the shape or type alone."""

MULTIPLIES = words("matmul __matmul__ bmm einsum")
"""Products of which the shapes of all factors are kept."""

PERMUTES = words("transpose transpose_ permute movedim moveaxis swapaxes swapdims t T mT H mH adjoint")
"""Operations that put the axes of a tensor in another order."""


@dataclass(frozen=True)
class Vertex:
    """A tensor of a run, and how it was made.

    Attributes:
        operation: Name of the function of torch; "input" for a tensor of the example.
        inputs: The vertices that it was made of.
        module: Name of the module that called the function; "" is the network itself.
        data: It is a floating-point or complex tensor that depends on what the example holds, not only on its shape.
        equation: The first argument of an einsum.
        operands: The shapes of all tensors that a product was given, those that are no vertices among them.
        order: For an operation that permutes axes, which axis of its input every axis was.
    """

    index: int
    operation: str
    inputs: tuple[int, ...]
    shape: tuple[int, ...]
    module: str
    data: bool
    equation: str = ""
    order: tuple[int, ...] = ()
    operands: tuple[tuple[int, ...], ...] = ()

    @property
    def numel(self) -> int:
        return int(torch.Size(self.shape).numel())


@dataclass(frozen=True)
class ModuleCall:
    """One call of a module: the vertices that went in, those that came out, and the last vertex before it began."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    begin: int


@dataclass
class Trace:
    """All vertices of a run, the calls of its modules, and the vertex that is its output."""

    vertices: list[Vertex] = field(default_factory=list)
    calls: list[ModuleCall] = field(default_factory=list)
    output: int = -1
    before: dict[int, Tensor] = field(default_factory=dict)
    """Tensors that were asked for, as the network made them."""
    after: dict[int, Tensor] = field(default_factory=dict)
    """The same with what was added to them."""
    edges: dict[int, Any] = field(default_factory=dict)
    """Holds the gradients of tensors that have some; a tensor that is written over later has one for each time."""
    result: Any = None


class _Recorder(TorchFunctionMode):
    """Records vertices; keeps those that are asked for, and adds to those that are to be disturbed."""

    def __init__(self, keep: Iterable[int], disturb: Mapping[int, Callable[[Tensor], Tensor]], copy: bool) -> None:
        super().__init__()
        self.trace = Trace()
        self.modules: list[str] = [""]
        self._keep, self._disturb, self._copy = set(keep), disturb, copy
        self._numbers: Any = WeakIdKeyDictionary()
        self._tainted: set[int] = set()  # integer tensors of the example, and what is made of them

    def add_inputs(self, values: Any) -> None:
        for tensor in tensors_of(values):
            vertex = self._new(tensor, "input", (), data=_has_numbers(tensor))
            if not _has_numbers(tensor):
                self._tainted.add(vertex)
            if vertex in self._keep:
                self.trace.before[vertex] = self.trace.after[vertex] = tensor.detach().clone() if self._copy else tensor

    def number(self, tensor: Tensor) -> int | None:
        found: int | None = self._numbers.get(tensor)
        return found

    def numbers(self, values: Any) -> tuple[int, ...]:
        found = (self.number(tensor) for tensor in tensors_of(values))
        return tuple(number for number in found if number is not None)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        operation = _name(func)
        sources = self.numbers(args[:1] if operation in TAKES_ITS_FORM else (args, given))
        result = func(*args, **given)
        outputs = list(tensors_of(result))
        written = _writes(operation)
        if operation == "__setitem__":
            outputs = [args[0]]
        if not outputs:
            return result
        old = {id(tensor) for tensor in tensors_of((args, given))}
        equation = args[0] if operation == "einsum" and isinstance(args[0], str) else ""
        order = _order(func, args, given) if operation in PERMUTES else ()
        operands = tuple(tuple(t.shape) for t in tensors_of((args, given))) if operation in MULTIPLIES else ()
        replaced: dict[int, Tensor] = {}
        for tensor in outputs:
            if id(tensor) in old and operation not in RETURNS_ITS_ARGUMENT:
                written = True  # such as relu with inplace=True
            data = _has_numbers(tensor) and self._is_data(operation, sources)
            vertex = self._new(tensor, operation, sources, data, equation, order, operands)
            if not _has_numbers(tensor) and self._tainted.intersection(sources):
                self._tainted.add(vertex)
            changed = self._visit(vertex, tensor, written)
            if changed is not tensor:
                replaced[id(tensor)] = changed
        return result if not replaced else _exchange(result, replaced)

    def _is_data(self, operation: str, sources: tuple[int, ...]) -> bool:
        if (operation.endswith("_like") or operation.startswith("new_")) and "zeros" not in operation:
            return False  # a shape is all that it takes; a stream may begin with zeros, such as the speed of momentum
        if operation == "embedding":
            return bool(self._tainted.intersection(sources))
        return any(self.trace.vertices[source].data for source in sources)

    def _new(
        self,
        tensor: Tensor,
        operation: str,
        inputs: tuple[int, ...],
        data: bool,
        equation: str = "",
        order: tuple[int, ...] = (),
        operands: tuple[tuple[int, ...], ...] = (),
    ) -> int:
        index = len(self.trace.vertices)
        made = Vertex(index, operation, inputs, tuple(tensor.shape), self.modules[-1], data, equation, order, operands)
        self.trace.vertices.append(made)
        self._numbers[tensor] = index
        return index

    def _visit(self, vertex: int, tensor: Tensor, written: bool) -> Tensor:
        if vertex in self._keep:
            self.trace.before[vertex] = tensor.detach().clone() if self._copy else tensor
        changed = tensor
        if vertex in self._disturb:
            delta = self._disturb[vertex](tensor)
            changed = tensor.add_(delta) if written else tensor + delta
            self._numbers[changed] = vertex
        if vertex in self._keep:
            self.trace.after[vertex] = changed.detach().clone() if self._copy else changed
            if not self._copy and changed.requires_grad:
                self.trace.edges[vertex] = get_gradient_edge(changed)
        return changed


def run(
    model: nn.Module,
    example: Example,
    *,
    keep: Iterable[int] = (),
    disturb: Mapping[int, Callable[[Tensor], Tensor]] | None = None,
    gradients: bool = False,
    statistics: str = "running",
) -> Trace:
    """Run a network on an example, in evaluation mode, and record how its tensors are made.

    Args:
        keep: Vertices of an earlier run whose tensors are kept, as copies unless gradients are wanted.
        disturb: Vertices of an earlier run, and what is added to each, as a function of its tensor.
        statistics: "batch" lets batch norms use mean and variance of the example, and keep their own.
    """
    recorder = _Recorder(keep, disturb or {}, copy=not gradients)
    args, kwargs = copied_arguments(example)
    with ExitStack() as stack:
        stack.enter_context(evaluation(model, statistics))
        stack.enter_context(torch.set_grad_enabled(gradients))
        stack.enter_context(_watched_modules(model, recorder))
        recorder.add_inputs((args, kwargs))
        stack.enter_context(recorder)
        with refusing(model, example):
            result = model(*args, **kwargs)
    trace = recorder.trace
    real = [tensor for tensor in tensors_of(result) if not tensor.is_complex()]
    found = [vertex for vertex in recorder.numbers(real) if trace.vertices[vertex].data]
    if not found:
        raise InputError(
            f"{type(model).__name__} returns {type(result).__name__} without a tensor that depends on the example; "
            "expected one (torch.compile, scripted parts and own autograd functions hide what they do)"
        )
    trace.output, trace.result = found[0], result
    return trace


def check_finite(model: nn.Module, vertices: Sequence[Vertex], kept: Mapping[int, Tensor]) -> None:
    """Refuse a network that overflows on an example or adds complex tensors: neither has shares."""
    for index in sorted(kept):
        if kept[index].is_complex():
            place = vertices[index].module or "the network itself"
            raise InputError(f"{type(model).__name__} has a complex state or branch, made by "
                             f"{vertices[index].operation} in {place}; expected real ones")  # fmt: skip
        if not kept[index].isfinite().all():
            made = vertices[index]
            raise InputError(
                f"{type(model).__name__} makes numbers that are not finite, first by {made.operation} in "
                f"{made.module or 'the network itself'}; expected finite ones on this example"
            )


@contextmanager
def _watched_modules(model: nn.Module, recorder: _Recorder) -> Iterator[None]:
    open_calls: list[tuple[str, tuple[int, ...], int]] = []

    def enter(name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        recorder.modules.append(name)
        open_calls.append((name, recorder.numbers((args, kwargs)), len(recorder.trace.vertices) - 1))

    def leave(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        name, inputs, begin = open_calls.pop()
        recorder.modules.pop()
        recorder.trace.calls.append(ModuleCall(name, inputs, recorder.numbers(output), begin))

    hooks = []
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(partial(enter, name), with_kwargs=True))
        hooks.append(module.register_forward_hook(leave, with_kwargs=True))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _exchange(result: Any, replaced: dict[int, Tensor]) -> Any:
    if isinstance(result, Tensor):
        return replaced.get(id(result), result)
    items = [_exchange(item, replaced) for item in result]
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def _order(func: Any, args: Any, kwargs: Any) -> tuple[int, ...]:
    """Permute a tensor whose axes have different sizes, and look where each of them went."""
    if not args or not isinstance(args[0], Tensor):
        return ()
    labels = torch.empty(tuple(range(1, args[0].dim() + 1)), device="meta")
    return tuple(size - 1 for size in func(labels, *args[1:], **kwargs).shape)


def _has_numbers(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _name(func: Any) -> str:
    name = getattr(func, "__name__", str(func))
    return func.__self__.__name__ if name == "__get__" else name


def _writes(operation: str) -> bool:
    """Check if an operation writes into its first argument: add_, __iadd__, __setitem__."""
    inplace = operation.endswith("_") and not operation.endswith("__")
    return inplace or operation == "__setitem__" or (operation.startswith("__i") and operation != "__invert__")

"""Which operations carry a state along: rearrange it, add to it, scale it, or pick streams of it.

The table only proposes how a sum of states and branches is made up. What is proposed is then measured, so an operation
that is not what its name promises shows up as a fit that fails.
"""

from collections.abc import Sequence

from zerosnet.models.reading.trace import Vertex, words

MOST_STREAMS = 16
"""Products that sum over more entries mix features; they are no mixing of streams."""

COEFFICIENT_PART = 4
"""A factor with at most 1/4 of the entries of the other one is a coefficient, broadcast over features."""

SAME = words(
    "view view_as reshape reshape_as flatten unflatten contiguous clone to float double half bfloat16 type type_as "
    "transpose permute movedim moveaxis swapaxes swapdims t T mT adjoint squeeze unsqueeze detach data alias "
    "dropout dropout1d dropout2d dropout3d feature_alpha_dropout requires_grad_ cpu cuda _to_copy"
)
"""The same numbers in another layout or type (dropout in evaluation mode)."""

COPIES = words("expand expand_as broadcast_to")
"""Copies of the numbers; the same ones if there are not more of them."""

PICKS = words(
    "__getitem__ select narrow chunk split split_with_sizes tensor_split unbind expand expand_as broadcast_to repeat "
    "tile repeat_interleave index_select"
)
"""A part of the numbers, or copies of them."""

SUMS = words(
    "add add_ __add__ __radd__ __iadd__ sub sub_ __sub__ __rsub__ __isub__ rsub subtract neg __neg__ cat concat "
    "concatenate stack hstack vstack dstack sum mean __setitem__"
)

SCALES = words("mul mul_ __mul__ __rmul__ __imul__ multiply div div_ __truediv__ __itruediv__ divide")

BLENDS = words("lerp lerp_ addcmul addcmul_ addcdiv addcdiv_")
"""The first input plus another one, each times coefficients."""

PRODUCTS = words("matmul __matmul__ __rmatmul__ bmm einsum tensordot baddbmm")

NORMS = words("layer_norm rms_norm batch_norm group_norm instance_norm normalize")

_DIVISIONS = words("div div_ __truediv__ __itruediv__ divide")


def carriers(vertices: Sequence[Vertex], vertex: Vertex) -> tuple[int, ...]:
    """List the inputs of a scaling or a product that a state can be in; the others are coefficients.

    An empty list means that the operation does not keep streams apart from one another.
    """
    inputs = [vertices[i] for i in dict.fromkeys(vertex.inputs) if vertices[i].data]
    if not inputs:
        return ()
    if vertex.operation in PRODUCTS and _summed(vertices, vertex) > MOST_STREAMS:
        return ()
    if vertex.operation in _DIVISIONS and vertices[vertex.inputs[0]].data:
        inputs = inputs if len(inputs) == 1 else [vertices[vertex.inputs[0]], *inputs[1:]]
    largest = max(v.numel for v in inputs)
    return tuple(v.index for v in inputs if v.numel * COEFFICIENT_PART > largest)


def limit_reached(vertices: Sequence[Vertex]) -> str:
    """Describe the limit on streams that a product is over, with its place, in brackets; "" if there is none."""
    added = {i for v in vertices if v.operation in SUMS for i in v.inputs}
    for v in vertices:
        inputs = [vertices[i] for i in dict.fromkeys(v.inputs) if vertices[i].data]
        if v.operation not in PRODUCTS or not inputs:
            continue
        place, summed = v.module or "the network itself", _summed(vertices, v)
        if MOST_STREAMS < summed <= 4 * MOST_STREAMS:
            return f" ({v.operation} in {place} sums over {summed} entries; at most {MOST_STREAMS} are read as streams)"
        if v.index in added and len(carriers(vertices, v)) > 1:
            sizes = " and ".join(str(one.numel) for one in inputs)
            return (f" ({v.operation} in {place} multiplies tensors of {sizes} entries; coefficients of streams have "
                    f"less than 1/{COEFFICIENT_PART} of the entries of a state)")  # fmt: skip
    return ""


def blended(vertices: Sequence[Vertex], vertex: Vertex) -> tuple[int, ...]:
    """List the two terms of a blend; none if the second one is a product of tensors that are no coefficients."""
    first, *others = dict.fromkeys(i for i in vertex.inputs if vertices[i].data)
    if vertex.operation.startswith("lerp"):
        return (first, *others[:1])  # the rest is the weight
    largest = max((vertices[i].numel for i in others), default=0)
    large = [i for i in others if vertices[i].numel * COEFFICIENT_PART > largest]
    return (first, *large) if len(large) == 1 else ()


def is_gated(vertices: Sequence[Vertex], vertex: Vertex) -> bool:
    """Check if a sum or a blend has a term that is multiplied by a tensor with as many entries."""
    if vertex.operation in BLENDS:
        return len(_as_large(vertices, vertex)) > 2
    terms = [vertices[i] for i in dict.fromkeys(vertex.inputs)] if vertex.operation in SUMS else []
    return any(term.operation in SCALES and len(_as_large(vertices, term)) > 1 for term in terms)


def _as_large(vertices: Sequence[Vertex], vertex: Vertex) -> list[int]:
    """List the different inputs that have as many entries as the result."""
    return [i for i in dict.fromkeys(vertex.inputs) if vertices[i].data and vertices[i].numel == vertex.numel]


def _summed(vertices: Sequence[Vertex], vertex: Vertex) -> int:
    """Count the entries that a product of matrices sums over."""
    shapes = vertex.operands or [vertices[i].shape for i in vertex.inputs]
    if vertex.operation == "einsum":
        return _summed_by_einsum(vertex.equation, shapes)
    if len(shapes) == 2:
        return shapes[0][-1] if shapes[0] else 1
    return shapes[0][-1] if shapes and shapes[0] else MOST_STREAMS + 1


def _summed_by_einsum(equation: str, shapes: Sequence[tuple[int, ...]]) -> int:
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow:
        return MOST_STREAMS + 1
    sizes: dict[str, int] = {}
    for letters, shape in zip(left.split(","), shapes):
        front, dots, back = letters.partition("...")
        named = [*zip(front, shape), *(zip(reversed(back), reversed(shape)) if dots else ())]
        sizes |= dict(named)
    total = 1
    for letter, size in sizes.items():
        total *= 1 if letter in right else size
    return total

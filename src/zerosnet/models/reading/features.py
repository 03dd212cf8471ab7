"""Find the axis of a token's or pixel's features in every tensor of a run.

Layers tell which axis that is: a linear layer writes the last one, a convolution the one after the batch. The axis is
followed from there through whatever rearranges, adds or mixes tensors, so a shape alone never decides.
"""

from collections.abc import Sequence

from zerosnet.models.reading.algebra import NORMS
from zerosnet.models.reading.trace import Vertex, words

_LAST = words("linear embedding scaled_dot_product_attention multi_head_attention_forward bilinear")
_CONVOLUTIONS = {f"conv{kind}{n}d": n for kind in ("", "_transpose") for n in (1, 2, 3)}
_ROW_MAJOR = words("view view_as reshape reshape_as flatten unflatten ravel squeeze unsqueeze")
_NEW_AXIS = words("stack __getitem__")
_MATRIX_PRODUCTS = words("matmul __matmul__ __rmatmul__ bmm baddbmm")


def feature_axes(vertices: Sequence[Vertex]) -> list[int | None]:
    """List the axis of features of every tensor, counted from the front; None if it is not known."""
    axes: list[int | None] = []
    for v in vertices:
        found = _axis(vertices, axes, v) if v.data else None
        axes.append(found if found is not None and 0 <= found < len(v.shape) else None)
    return axes


def axis_in(shape: Sequence[int], axis: int | None, given: Sequence[int]) -> int:
    """Find the axis of a tensor of shape `given` in one of another shape with the same axes, but for those of size 1.

    If it is not known, it is the last one, or the second one of images whose channels come first.
    """
    if axis is not None and _wide(shape) == _wide(given) and given[axis] != 1:
        count = len(_wide(given[:axis]))
        return [n for n, size in enumerate(shape) if size != 1][count]
    images = len(shape) == 4 and 1 not in shape[1:3]
    return 1 if images and not (shape[1] == shape[2] != shape[3]) else len(shape) - 1


def _wide(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def _axis(vertices: Sequence[Vertex], axes: Sequence[int | None], v: Vertex) -> int | None:
    dims = len(v.shape)
    if v.operation in _LAST:
        return dims - 1
    if v.operation in _CONVOLUTIONS:
        return dims - 1 - _CONVOLUTIONS[v.operation]
    # a sum keeps the axis of the state, which was made before the branch
    inputs = [vertices[i] for i in sorted(set(v.inputs)) if vertices[i].data]
    if v.operation == "einsum":
        return _of_einsum(vertices, axes, v)
    if v.operation in _MATRIX_PRODUCTS:
        return _of_product(vertices, axes, v)
    known = [(one.shape, axis) for one in inputs if (axis := axes[one.index]) is not None]
    if v.order:
        return v.order.index(known[0][1]) if known and len(known[0][0]) == len(v.order) else None
    for shape, axis in known:
        found = _row_major(shape, axis, v.shape) if v.operation in _ROW_MAJOR else _aligned(shape, axis, v)
        if found is not None:
            return found
    if v.operation in NORMS:
        return dims - 1 if v.operation in ("layer_norm", "rms_norm") else 1
    return None


def _aligned(shape: Sequence[int], axis: int, v: Vertex) -> int | None:
    """Follow the axis through an operation that keeps axes, or takes one away or adds one."""
    new, old = v.shape, tuple(shape)
    if len(new) == len(old):
        return axis
    if len(new) == len(old) - 1:
        return _only({axis - (n < axis) for n in range(len(old)) if n != axis and old[:n] + old[n + 1 :] == new})
    if len(new) == len(old) + 1 and v.operation in _NEW_AXIS:
        return _only({axis + (n <= axis) for n in range(len(new)) if new[:n] + new[n + 1 :] == old})
    return axis + len(new) - len(old) if len(new) > len(old) else None  # broadcast


def _only(found: set[int]) -> int | None:
    return next(iter(found)) if len(found) == 1 else None


def _row_major(shape: Sequence[int], axis: int, new: Sequence[int]) -> int | None:
    """Find the axis of the same size with as many entries behind it."""
    behind = _count(shape[axis + 1 :])
    found = [n for n, size in enumerate(new) if size == shape[axis] and _count(new[n + 1 :]) == behind]
    return found[0] if found else None


def _count(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _of_product(vertices: Sequence[Vertex], axes: Sequence[int | None], v: Vertex) -> int | None:
    """Follow the axis through a product of matrices: it is that of the right factor, if that is data."""
    right = vertices[v.inputs[-1]]
    axis = axes[right.index] if right.data else None
    if axis is None or len(right.shape) < 2:
        return len(v.shape) - 1
    return len(v.shape) - len(right.shape) + axis


def _of_einsum(vertices: Sequence[Vertex], axes: Sequence[int | None], v: Vertex) -> int | None:
    """Follow the letter of the features; if it is summed over, the weights bring the new one."""
    left, arrow, right = v.equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != len(v.inputs):
        return None
    letters = [_letters(term, len(vertices[i].shape)) for term, i in zip(terms, v.inputs)]
    output = _letters(right, len(v.shape))
    for i, names in zip(v.inputs, letters):
        axis = axes[i]
        if axis is not None and names[axis] in output:
            return output.index(names[axis])
    data = {name for i, names in zip(v.inputs, letters) if vertices[i].data for name in names}
    return _only({n for n, name in enumerate(output) if name not in data})


def _letters(term: str, dims: int) -> list[str]:
    front, dots, back = term.partition("...")
    hidden = dims - len(front) - len(back) if dots else 0
    return [*front, *(f".{n - hidden}" for n in range(hidden)), *back]  # dots are aligned from the right

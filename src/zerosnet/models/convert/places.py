"""The place of the state in what a block takes and returns: tuples, lists and dictionaries, however nested."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torch import Tensor

Path = tuple[Any, ...]
"""Keys and indices that lead to a tensor; () is the value itself."""


class Place(NamedTuple):
    """Paths to the state in a block's arguments (args, kwargs) and in its result."""

    given: Path = (0, 0)
    returned: Path = ()


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

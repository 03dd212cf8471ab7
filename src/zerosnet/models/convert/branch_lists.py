"""Find lists of branches that a network adds to its state itself, in a plain loop y = y + f(y)."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from zerosnet.errors import InputError
from zerosnet.models.convert.probe import Chains
from zerosnet.models.convert.stage import Place
from zerosnet.models.reading.calls import Example
from zerosnet.models.reading.trace import ModuleCall, Trace, run, words

_ADDS = words("add __add__ __radd__ add_ __iadd__")
_WRITES = words("add_ __iadd__")

Sum = tuple[int, int, int]
"""The vertices of a state, of a branch, and of their sum."""


def branch_lists(model: nn.Module, example: Example) -> Chains:
    """Find lists of modules that are called in order, and whose results are added to what they were given.

    Nothing else may happen to the state in between, and nothing else may read it: then its scheme can be changed by
    what the branches return.
    """
    trace = run(model, example)
    found: Chains = {}
    for name, module in model.named_modules():
        if type(module) is nn.ModuleList and len(module):
            sums = _sums(trace, [f"{name}.{child}" if name else child for child, _ in module.named_children()])
            if sums and len(set(module)) == len(module) and _exact(model, example, sums):
                written = any(trace.vertices[made].operation in _WRITES for _, _, made in sums)
                found[name] = (Place(written=written),) * len(module)
    return found


def _exact(model: nn.Module, example: Example, sums: Sequence[Sum]) -> bool:
    """Run again to tell sums from those with a factor, such as alpha of torch.add."""
    kept = run(model, example, keep={v for one in sums for v in one}).before
    return all(torch.equal(kept[made], kept[state] + kept[branch]) for state, branch, made in sums)


def nothing_found(model: nn.Module, example: Example) -> str:
    """Report which residual blocks a network has that cannot be converted, and what can."""
    from zerosnet.models.reading.read import wiring_of

    try:
        names = wiring_of(model, example).names
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        seen = f"{len(names)} residual block{'s' * (len(names) != 1)} ({', '.join(names[:4])}{more}), but none of them "
        seen += "is a module that returns the sum, or a branch in a plain loop"
    except InputError:
        seen = "no residual blocks that can be found"
    return (
        f"{type(model).__name__} has {seen}; expected an nn.Sequential or nn.ModuleList of blocks that take y and "
        "return y + f(y), with y of one shape and one stream, or an nn.ModuleList of branches f that the network "
        "adds by y = y + f(y) and nothing else"
    )


def _sums(trace: Trace, names: list[str]) -> list[Sum]:
    """List the sums after these modules, if each of them makes what the next one is given; else none."""
    counts = Counter(call.name for call in trace.calls)
    if any(counts[name] != 1 for name in names):
        return []
    calls = {call.name: call for call in trace.calls}
    sums = [found for name in names if (found := _sum_after(trace, calls[name])) is not None]
    follow = all(made == state for (_, _, made), (state, _, _) in pairwise(sums))
    return sums if len(sums) == len(names) and follow else []


def _sum_after(trace: Trace, call: ModuleCall) -> Sum | None:
    """Find the sum of what a branch was given and what it returned, if nothing else uses either of them."""
    if len(call.inputs) != 1 or len(call.outputs) != 1:
        return None
    state, branch = call.inputs[0], call.outputs[0]
    outside = [v for v in trace.vertices[branch + 1 :] if {state, branch} & set(v.inputs)]
    before = [v for v in trace.vertices[state + 1 : call.begin + 1] if state in v.inputs]
    if len(outside) != 1 or before or trace.output in (state, branch):
        return None
    made = outside[0]
    shapes = {trace.vertices[v].shape for v in (state, branch, made.index)}
    plain = made.operation in _ADDS and set(made.inputs) == {state, branch} and len(shapes) == 1
    return (state, branch, made.index) if plain else None

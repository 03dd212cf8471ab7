"""Find modules that stand beside blocks, ran as they did, and were not read as blocks."""

from collections.abc import Iterable, Iterator, Mapping

from torch import nn

from zerosnet.errors import InputError
from zerosnet.models.reading.branches import name_of_branch
from zerosnet.models.reading.measured import MeasuredWiring, Unread
from zerosnet.models.reading.plan import Part, StepPlan, ancestors
from zerosnet.models.reading.trace import ModuleCall, Trace

_UNUSED = "not used by the first output"
_SHAPE = "changes shape"
_NO_SUM = "no residual sum found there"


def unread_siblings(
    model: nn.Module, trace: Trace, plan: StepPlan, blocks: Iterable[tuple[Part, tuple[tuple[int, float], ...]]]
) -> tuple[Unread, ...]:
    """List entries of the same container as a block that ran, hold no block and are no part of a branch.

    In a Sequential they are of the same class as the block, in a ModuleList of that or with a matrix or kernel of
    weights. A Sequential that changes the shape is not listed: it is a passage between two stages.
    """
    flow, modules = plan.flow, dict(model.named_modules())
    read: set[str] = set()
    inside: set[str] = set()
    for part, branch in blocks:
        places = [flow.vertices[part.sums[0].target].module, *(name_of_branch(plan, part, v) for v, _ in branch)]
        read.update(entry for place in places for entry in _entries(modules, place))
        made = {v for vertex, _ in branch for v in ancestors(flow, part.before, vertex)}
        inside.update(entry for v in made for entry in _entries(modules, flow.vertices[v].module))
    calls = {call.name: call for call in trace.calls}
    beside = {name for entry in read for name in _siblings(modules, entry)} - read - inside
    found = [
        Unread(call.name, _reason(plan, call))
        for call in sorted(calls.values(), key=lambda call: call.begin)
        if call.name in beside
    ]
    return tuple(one for one in found if one.reason != _SHAPE or type(modules[one.name]) is not nn.Sequential)


def require_most(model: nn.Module, wiring: MeasuredWiring) -> None:
    """Refuse to diagnose a network of which most blocks were not read: its depth would be that of a small part."""
    missing = [one.name for one in wiring.unread if one.reason == _NO_SUM]
    if len(missing) > len(wiring.names):
        several = len(wiring.names) > 1
        raise InputError(
            f"{type(model).__name__} was read as {len(wiring.names)} block{'s' * several}, "
            f"{', '.join(wiring.names)}, but {', '.join(missing)} ran beside {'them' if several else 'it'} "
            "and no residual sum was found there, as where every block reads a mixture of all earlier ones; expected "
            "one sum of states and a branch per block, or names of modules (blocks=, in the shell --block)"
        )


def _entries(modules: Mapping[str, nn.Module], place: str) -> Iterator[str]:
    """List the modules on the way to a place that are entries of a Sequential or a ModuleList."""
    steps = place.split(".")
    for n in range(1, len(steps) + 1):
        if isinstance(modules.get(".".join(steps[: n - 1])), (nn.Sequential, nn.ModuleList)):
            yield ".".join(steps[:n])


def _siblings(modules: Mapping[str, nn.Module], entry: str) -> Iterator[str]:
    parent = entry.rpartition(".")[0]
    for child, module in modules[parent].named_children():
        weights = isinstance(modules[parent], nn.ModuleList) and any(p.dim() > 1 for p in module.parameters())
        if weights or type(module) is type(modules.get(entry)):
            yield f"{parent}.{child}" if parent else child


def _reason(plan: StepPlan, call: ModuleCall) -> str:
    flow = plan.flow
    outputs = [v for v in call.outputs if flow.vertices[v].data]
    if not any(flow.used[v] for v in outputs):
        return _UNUSED
    shapes = {flow.vertices[v].shape for v in call.inputs if flow.vertices[v].data}
    return _NO_SUM if any(flow.vertices[v].shape in shapes for v in outputs) else _SHAPE

"""Find modules that were not read as blocks: those beside blocks that ran as they did, and those inside a branch."""

from collections.abc import Iterator, Mapping, Sequence

from torch import nn

from zerosnet.errors import InputError
from zerosnet.models.reading.branches import name_of_branch
from zerosnet.models.reading.measured import MeasuredWiring, Unread
from zerosnet.models.reading.plan import Part, StepPlan, ancestors
from zerosnet.models.reading.states import State
from zerosnet.models.reading.trace import ModuleCall, Trace, words

_WEIGHTED = words(
    "linear addmm bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d matmul __matmul__ "
    "bmm einsum multi_head_attention_forward scaled_dot_product_attention"
)

_UNUSED = "not used by the first output"
_SHAPE = "changes shape"
_NO_SUM = "no residual sum found there"
_NAMING = "blocks= names modules that return sums, in the shell --block"


Blocks = Sequence[tuple[Part, tuple[tuple[int, float], ...]]]
"""Parts of a plan, and the vertices and weights of their branches."""


def unread_modules(model: nn.Module, trace: Trace, plan: StepPlan, blocks: Blocks) -> tuple[Unread, ...]:
    """List modules beside blocks and inside branches that were not read as blocks."""
    return (*_unread_siblings(model, trace, plan, blocks), *_sums_inside(plan, blocks))


def _unread_siblings(model: nn.Module, trace: Trace, plan: StepPlan, blocks: Blocks) -> tuple[Unread, ...]:
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


def _sums_inside(plan: StepPlan, blocks: Blocks) -> Iterator[Unread]:
    """List what is added inside the branch of a block, as where a skip connection leads around a whole network."""
    vertices = plan.flow.vertices
    for part, branch in blocks:
        for vertex, _ in branch:
            inside = ancestors(plan.flow, part.before, vertex)
            sums = [v for v in sorted(inside) if vertices[v].operation.strip("_") in ("add", "iadd", "add_")]
            sums = [v for v in sums if vertices[v].numel == vertices[vertex].numel]
            found = [(v, made) for v in sums if (made := _added_inside(plan, part.before, v)) is not None]
            places = [_place(plan, part, target, made) for target, made in found]
            where = f"in a sum inside the branch {name_of_branch(plan, part, vertex)}; {_NAMING}"
            yield from (Unread(place, where) for place in dict.fromkeys(places) if place)


def _place(plan: StepPlan, part: Part, target: int, made: int) -> str:
    """Name the module that returns a sum, or the one that makes its branch if the sum is beside that of the block."""
    vertices = plan.flow.vertices
    outer, inner = vertices[part.sums[0].target].module, vertices[target].module
    return name_of_branch(plan, part, made) if inner == outer else inner


def _added_inside(plan: StepPlan, before: State, target: int) -> int | None:
    """Find the term of a sum that is made of the other term with weights; None if there is none."""
    vertices = plan.flow.vertices
    terms = [i for i in dict.fromkeys(vertices[target].inputs) if vertices[i].data]
    if len(terms) != 2 or any(vertices[i].numel != vertices[target].numel for i in terms):
        return None
    state, branch = sorted(terms, key=lambda i: plan.flow.root[i])
    root = plan.flow.root[state]
    made = ancestors(plan.flow, before | {root}, branch)
    reads = any(plan.flow.root[i] == root for v in made for i in vertices[v].inputs)
    return branch if reads and any(vertices[v].operation in _WEIGHTED for v in made) else None


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

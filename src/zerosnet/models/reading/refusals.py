"""What is reported of a network that cannot be read."""

from torch import nn

from zerosnet.errors import InputError
from zerosnet.models.reading.algebra import is_gated, limit_reached
from zerosnet.models.reading.plan import Part, StepPlan


def nothing_found(model: nn.Module, plan: StepPlan) -> str:
    """Report what was seen in a network without blocks that can be found."""
    flow = plan.flow
    used = [v for v in flow.vertices if flow.used[v.index]]
    sums = [v for v in used if v.operation.strip("_") in ("add", "iadd", "sub", "isub")]
    where = ", ".join(dict.fromkeys(v.module or "the network itself" for v in sums[:5]))
    seen = f"{len(sums)} sums, in {where}" if sums else "no sums"
    gated = [v for v in used if is_gated(flow.vertices, v)]
    if gated:
        seen += f", and in {len(gated)} of them weights that differ for every entry, as in highway networks"
    seen += limit_reached(flow.vertices) if sums and not gated else ""
    return (
        f"{type(model).__name__} has no residual blocks that can be found: among {len(used)} operations between the "
        f"example and the output there are {seen}; expected sums of a state and a branch"
        f"{', with weights per token, channel or image at most' if gated else ''}, "
        "or names of modules (blocks=, in the shell --block)"
    )


def check_entries(model: nn.Module, plan: StepPlan) -> None:
    """Refuse sums of tensors without entries."""
    vertices = plan.flow.vertices
    found = (vertices[v] for part in plan.steps for s in part.sums for v in (s.target, *s.states, *s.branches))
    empty = next((v for v in found if not v.numel), None)
    if empty is not None:
        raise InputError(
            f"{type(model).__name__} sums tensors without entries ({empty.operation} in "
            f"{empty.module or 'the network'}), such as boxes if none are detected; expected "
            "an example on which they have some, or names of modules (blocks=, in the shell --block)"
        )


def several_readings(plan: StepPlan, part: Part) -> str:
    """Report a block that reads more than one mixture."""
    module = plan.flow.vertices[part.sums[0].target].module
    return f"the block in {module or 'the network'} reads several mixtures of its streams; expected one"

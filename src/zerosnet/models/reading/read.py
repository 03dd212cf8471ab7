"""Read the wiring of any residual network from outside."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models.reading.branches import block_names, factor, folds, rms, stages_of
from zerosnet.models.reading.calls import Example, check_call, draws_chance
from zerosnet.models.reading.disturb import DisturbedRun, disturbed_run
from zerosnet.models.reading.linear import (
    LinearPart,
    fit_mixture,
    measure_part,
    state_gains,
    stem_size,
    stream_roots,
)
from zerosnet.models.reading.measured import MeasuredStep, MeasuredWiring
from zerosnet.models.reading.plan import Part, StepPlan, normed, plan_of
from zerosnet.models.reading.reads import entries_of, head_entry, trimmed
from zerosnet.models.reading.refusals import check_entries, nothing_found, several_readings
from zerosnet.models.reading.trace import run
from zerosnet.models.reading.unread import unread_modules
from zerosnet.numerics import Step

_SNAP = 1e-8
_ZERO = 1e-13
"""Rounding: numbers so close to an integer, or to 0, are taken to be it."""

_DRAWS = 8
"""Number of readings with other random numbers: two of them hardly ever agree if blocks are skipped by chance."""

_CHANCE = 0.05
"""Numbers of a wiring that differ by more depend on chance: a block that is skipped changes one by its whole size."""


def wiring_of(
    model: nn.Module, example: Example, *, blocks: Iterable[str] | None = None, seed: int = 0
) -> MeasuredWiring:
    """Measure the wiring of a residual network: what every block keeps (A_n), writes (b_n) and reads (c_n).

        X_{n+1} = A_n X_n + b_n f_n(c_n^T X_n),   output = head(r^T X_N)

    Nothing is taken from names or declared parameters. The network is run once to find its states, the moments at
    which few tensors are alive, and the branches that are added between two of them. It is run again, in float64, with
    a small independent disturbance of every stream and every branch; each new state must then be one linear combination
    of the streams before it and of the branch, and its coefficients are A_n and b_n. A matrix that is declared but
    never applied is therefore seen as what it does, nothing.

    Args:
        model: Any network: blocks in a Sequential, a ModuleList or called one by one, with positional or keyword
            arguments, one stream or several (along any axis of one tensor, or as tensors of their own). It is left as
            it is.
        example: What the network takes: a tensor, a tuple of arguments, or a dictionary of keyword arguments. Two or
            more images or texts, so that mixing that depends on the input has a spread.
        blocks: Names of modules that are residual blocks, if they are not found or not all are wanted.
        seed: Of the disturbances.

    Returns:
        A `Wiring` whose `measured` tells for every block its name, the spread of its numbers over images and tokens,
        and what the linear form leaves unexplained. Attention and MLP of a transformer are blocks of their own.
        `note` names modules beside the blocks that ran and were not read as blocks.

    Raises:
        InputError: No residual blocks were found, or a sum is not linear; the message reports what was seen.

    Examples:
        >>> import torch
        >>> from timm import create_model
        >>> vit = create_model("vit_tiny_patch16_224", img_size=32, depth=2)
        >>> wiring = wiring_of(vit, torch.randn(2, 3, 32, 32))
        >>> wiring.names
        ('blocks.0.attn', 'blocks.0.mlp', 'blocks.1.attn', 'blocks.1.mlp')
        >>> [(float(step.A[0][0]), float(step.b[0])) for step in wiring.steps]
        [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]
    """
    check_call(model, example, seed)
    drawn = draws_chance(model, example)
    return read_steadily(model, example, drawn, blocks=blocks, seed=seed).wiring


@dataclass(frozen=True)
class NetworkReading:
    """A wiring with the places of its states and branches in a run of the network.

    Attributes:
        parts: For every block the part of the plan, and what was measured in it.
        read: The vertex that the head reads, if it is a mixture of several streams.
    """

    wiring: MeasuredWiring
    plan: StepPlan
    parts: tuple[tuple[Part, LinearPart], ...]
    entries: tuple[int | None, ...]
    read: int | None


def read_network(
    model: nn.Module,
    example: Example,
    *,
    blocks: Iterable[str] | None = None,
    seed: int = 0,
    statistics: str = "running",
) -> NetworkReading:
    """Read a wiring, and keep where its states and branches are."""
    check_call(model, example, seed)
    trace = run(model, example, statistics=statistics)
    plan = plan_of(trace, blocks)
    if not plan.steps:
        raise InputError(nothing_found(model, plan))
    check_entries(model, plan)
    plan = trimmed(plan)
    entries, head = entries_of(plan), head_entry(plan)
    vertices = [v for v in (*entries.values(), head) if v is not None]
    disturbed = disturbed_run(model, example, plan, [*vertices, *plan.parts[-1].after], seed, statistics)
    found = _measured_parts(plan, entries, disturbed)
    steps = [(n, part, linear) for n, part, linear in found if linear.b is not None]
    read = _read_out(plan, steps[-1][2], head, disturbed)
    wiring = MeasuredWiring(
        steps=tuple(Step(tuple(map(_row, linear.A)), _row(linear.b), _row(linear.c)) for _, _, linear in steps),
        read=_row(read),
        start=_row(_start(plan, steps[0][2], disturbed)),
        stages=stages_of([linear.base for _, _, linear in steps]),
        measured=_descriptions(plan, steps),
        sizes=tuple(_rms_of_branch(linear, disturbed) for _, _, linear in steps),
        stem_size=stem_size(plan, steps[0][2], disturbed.before),
        passage_gains=state_gains(plan, [(part, linear) for _, part, linear in steps], disturbed.before),
        deviations=tuple(_deviations(linear) for _, _, linear in steps),
        unread=() if blocks is not None else unread_modules(model, trace, plan, _branches(steps)),
    )
    parts = tuple((part, linear) for _, part, linear in steps)
    return NetworkReading(wiring, plan, parts, tuple(entries.get(n) for n, _, _ in steps), head)


def read_steadily(
    model: nn.Module,
    example: Example,
    drawn: bool,
    *,
    blocks: Iterable[str] | None = None,
    seed: int = 0,
    statistics: str = "running",
) -> NetworkReading:
    """Read a wiring, and again with other random numbers if the network draws some.

    Args:
        drawn: It draws some; see `draws_chance`.
    """
    reading = read_network(model, example, blocks=blocks, seed=seed, statistics=statistics)
    for draw in range(_DRAWS if drawn else 0):
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(draw)
            try:
                other = read_network(model, example, blocks=blocks, seed=seed, statistics=statistics).wiring
            except InputError:  # such as one without blocks
                other = None
        same = other is not None and other.names == reading.wiring.names
        if other is None or not same or other.difference(reading.wiring) > _CHANCE:
            raise InputError(f"{type(model).__name__} does not run the same way twice, its blocks depend on random "
                             "numbers; expected a network without chance in evaluation mode")  # fmt: skip
    return reading


def _measured_parts(
    plan: StepPlan, entries: dict[int, int | None], run_: DisturbedRun
) -> list[tuple[int, Part, LinearPart]]:
    """Measure steps; what mixing and norms do between two of them goes into the step before."""
    found: list[tuple[int, Part, LinearPart]] = []
    for n, part in enumerate(plan.parts):
        if part.kind in ("step", "opening"):
            if entries.get(n, 0) is None:
                raise InputError(several_readings(plan, part))
            found.append((n, part, measure_part(plan, part, entries.get(n), run_)))
        elif folds(plan, n):
            place, step, linear = found[-1]
            found[-1] = place, step, _followed_by(linear, plan, part, run_)
    return found


def _followed_by(linear: LinearPart, plan: StepPlan, part: Part, run_: DisturbedRun) -> LinearPart:
    """Multiply a step with the matrix of the mixing, or the factor of the norm, that follows it."""
    fits = linear.fits
    if part.kind == "mixing":
        mixing = measure_part(plan, part, None, run_, _stream_of(plan, part, linear))
        matrix, fits = mixing.A, (*fits, *mixing.fits)
    else:
        matrix = _norm_factor(plan, part, run_)
    if matrix.shape[-1] not in (1, len(linear.A)):
        raise InputError(f"{len(linear.A)} streams leave a block and {matrix.shape[-1]} are mixed after it; "
                         "expected as many")  # fmt: skip
    b = None if linear.b is None else _applied(matrix, linear.b)
    variance = None if linear.b_variance is None else _applied(matrix.square(), linear.b_variance)
    return replace(linear, A=_applied(matrix, linear.A), b=b, fits=fits, b_variance=variance)


def _stream_of(plan: StepPlan, part: Part, linear: LinearPart) -> tuple[int, ...]:
    """Return the shape of a stream of the step before a mixing, if the state still consists of such streams."""
    size = int(torch.Size(linear.base).numel())
    count = sum(plan.flow.vertices[v].numel for v in stream_roots(plan.flow, part.before, size))
    return linear.base if count == size * len(linear.A) else ()


def _applied(matrix: Tensor, to: Tensor) -> Tensor:
    return matrix[0, 0] * to if matrix.shape == (1, 1) else matrix @ to


def _norm_factor(plan: StepPlan, part: Part, run_: DisturbedRun) -> Tensor:
    """Measure how much a norm multiplies the state, in the mean over all entries."""
    measured = factor(run_.before[part.sums[0].target], run_.after[normed(plan.flow, part)])
    return torch.tensor([[measured]], dtype=torch.float64)


def _read_out(plan: StepPlan, last: LinearPart, head: int | None, run_: DisturbedRun) -> Tensor:
    if head is None:
        return torch.ones(1)
    roots = stream_roots(plan.flow, plan.parts[-1].after, int(torch.Size(last.base).numel()))
    if head in roots:
        return torch.eye(len(roots))[roots.index(head)]
    return fit_mixture(head, roots, last.base, run_).mean[0]


def _start(plan: StepPlan, first: LinearPart, run_: DisturbedRun) -> Tensor:
    """Measure how large every stream of the first state is in units of its largest one."""
    if first.A.shape[1] == 1:
        return torch.ones(1)
    numel = int(torch.Size(first.base).numel())
    first_root, *others = stream_roots(plan.flow, plan.parts[0].before, numel)
    kept = run_.after if others else run_.before  # later tensors were made of the disturbed first one
    tensors = [kept[first_root], *(run_.before[root] for root in others)]
    roots = (first_root, *others)
    streams = torch.cat([first.streams(root, tensor) for root, tensor in zip(roots, tensors)]).flatten(1)
    reference = streams[streams.square().sum(1).argmax()]
    return streams @ reference / reference.square().sum()


def _descriptions(plan: StepPlan, steps: list[tuple[int, Part, LinearPart]]) -> tuple[MeasuredStep, ...]:
    flow, names = plan.flow, block_names(plan, _branches(steps))
    after = [n for n, _, _ in steps[1:]] + [len(plan.parts)]
    found = []
    for (n, part, linear), until, name in zip(steps, after, names):
        between = [p for p in plan.parts[n + 1 : until] if p.kind == "passage"]
        spread = linear.spread
        fixed = spread <= _SNAP
        widest = linear.widest.grouping
        found.append(
            MeasuredStep(
                name=name,
                operation=flow.vertices[part.sums[0].target].operation,
                spread=0.0 if fixed else spread,
                over="" if fixed else widest.name,
                depends_on_input=not fixed and any(f.grouping.of_input for f in linear.fits),
                error=max(f.error for f in linear.fits),
                passes=tuple(flow.vertices[p.sums[0].target].operation for p in between if p.sums),
                opens=part.kind == "opening",
            )
        )
    return tuple(found)


def _deviations(linear: LinearPart) -> tuple[float, ...]:
    assert linear.b_variance is not None, "a step has a branch"
    return tuple(0.0 if value <= _SNAP else value for value in linear.b_variance.sqrt().tolist())


def _branches(steps: list[tuple[int, Part, LinearPart]]) -> list[tuple[Part, tuple[tuple[int, float], ...]]]:
    return [(part, linear.branch) for _, part, linear in steps]


def _rms_of_branch(linear: LinearPart, run_: DisturbedRun) -> float:
    return rms(sum((weight * run_.before[v] for v, weight in linear.branch), torch.zeros(())))


def _row(values: Tensor | None) -> tuple[float, ...]:
    assert values is not None, "a step has a branch"
    return tuple(_snapped(value) for value in values.double().tolist())


def _snapped(value: float) -> float:
    nearest = float(round(value))
    return nearest if abs(value - nearest) < (_SNAP if nearest else _ZERO) else value

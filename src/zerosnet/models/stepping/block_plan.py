"""The static plan of a multistep network: which states every block receives, projects, sums and hands on.

Two strategies decide it. Start-up: what blocks do before there are as many states as the scheme looks back;
`one_step_start` is the paper's. Stage change: what becomes of the history where the shape of the state changes, by name
in `zerosnet.numerics.STAGE_CHANGES`.
"""

from dataclasses import dataclass

from zerosnet.models.structure import Structure
from zerosnet.numerics import find_stage_change


def one_step_start(age: int, steps: int) -> bool:
    """Decide if a block that has `age` states is one-step, y_{n+1} = y_n + f(y_n): the first steps - 1 blocks are."""
    return age < steps


@dataclass(frozen=True)
class Shape:
    """Channels of a state, and by how much it is smaller than the first one."""

    channels: int
    stride: int = 1


@dataclass(frozen=True)
class BlockPlan:
    """One step y_n -> y_{n+1}. Histories are newest first; a key names the convolution that projects an entry."""

    index: int
    width: int
    """Channels inside f."""
    source: Shape
    """Shape of y_n, which f always receives as it is."""
    target: Shape
    """Shape of y_{n+1}."""
    multistep: bool
    """False in start-up: the block is one-step."""
    states: tuple[tuple[Shape, str | None], ...]
    slopes: tuple[tuple[Shape, str | None], ...]
    opening: bool
    """y_n enters the sum through a BN-ReLU-convolution of its own."""
    hands_on_raw: bool
    """The opening's y_n is handed on as it came; a later block projects it."""
    keep_states: int
    keep_slopes: int

    @property
    def summable(self) -> tuple[int, int]:
        """Count the newest states and slopes, f_n included, that have the shape of the sum."""
        states = 1 if self.opening else self._fitting(self.states)
        return states, 1 + self._fitting(self.slopes)

    def _fitting(self, entries: tuple[tuple[Shape, str | None], ...]) -> int:
        fits = [key is not None or shape == self.target for shape, key in entries]
        return fits.index(False) if False in fits else len(fits)

    @property
    def convolutions(self) -> dict[str, Shape]:
        """The projections of this block: key -> shape of what they project."""
        return {key: shape for shape, key in (*self.states, *self.slopes) if key is not None}


def plan(structure: Structure, alphas: int, betas: int, stage_change: str) -> tuple[BlockPlan, ...]:
    """Make the plan for a scheme with so many alphas and betas."""
    strategy = find_stage_change(stage_change)
    size, steps = structure.traits, max(alphas, betas)
    states, slopes = [Shape(size.stem_channels)], list[Shape]()
    age = 1  # how many states there are since the (last) start
    plans: list[BlockPlan] = []
    for stage, (width, count) in enumerate(zip(size.widths, structure.blocks)):
        for position in range(count):
            source = states[0]
            stride = 2 if stage > 0 and position == 0 else 1
            target = Shape(width * structure.expansion, source.stride * stride)
            changes = source != target
            if changes and not strategy.keeps_history:
                states, slopes, age = states[:1], [], 1
            opening = changes and size.raw_opening and not plans
            multistep = not one_step_start(age, steps)
            keys = _Keys(target, strategy.projection == "shared", multistep and not opening, changes and not opening)
            block = BlockPlan(
                index=len(plans),
                width=width,
                source=source,
                target=target,
                multistep=multistep,
                states=tuple((shape, keys("y", lag, shape, alphas)) for lag, shape in enumerate(states)),
                slopes=tuple((shape, keys("f", lag, shape, betas)) for lag, shape in enumerate(slopes, start=1)),
                opening=opening,
                hands_on_raw=opening and strategy.keeps_history,
                keep_states=alphas,
                keep_slopes=betas - 1,
            )
            plans.append(block)
            handed = [target if key else shape for shape, key in block.states]
            handed[0] = source if block.hands_on_raw else target
            states = [target, *handed][:alphas]
            slopes = [target, *(target if key else shape for shape, key in block.slopes)][: betas - 1]
            age += 1
    return tuple(plans)


@dataclass(frozen=True)
class _Keys:
    """Names the projection that an entry of the history needs to reach the target's shape, if any.

    A multistep block projects what it sums; a one-step block at a change of shape y_n and what it hands on.
    """

    target: Shape
    shared: bool
    multistep: bool
    changes: bool

    def __call__(self, kind: str, lag: int, shape: Shape, terms: int) -> str | None:
        needed = self.multistep or (self.changes and (lag == 0 or lag < terms - 1))
        if not needed or shape == self.target:
            return None
        return f"from{shape.channels}" if self.shared else f"{kind}{lag}"

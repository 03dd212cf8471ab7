"""What every block of any residual network does: its share, how disturbances grow, how alike streams become."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from zerosnet.models.diagnosis.display import html_columns, text_table
from zerosnet.models.diagnosis.result import EffectiveDepth, depth_of, finite_or_none
from zerosnet.models.reading.measured import MeasuredWiring


@dataclass(frozen=True)
class BranchDiagnosis:
    """Block n of a network, which makes X_{n+1} out of X_n and its branch f_n.

    With several streams, sizes are of what the next block reads.

    Attributes:
        name: The module that is the branch.
        stage: From 0; the shape of the state is the same in a stage.
        state_rms: rms of what is read next.
        branch_rms: rms of what the branch contributes to it.
        share: Their quotient.
        share_spread: Deviation of the share over tokens or pixels.
        predicted_share: From A, b, c and the rms of every branch, if branches are uncorrelated.
        forward_gain: rms of a small disturbance after the block, for rms 1 in the first state. What the first state is
            made of is disturbed once, so copies of it, and a first state that is kept, move alike. The disturbance is
            measured in what is read next or, if only a branch reads that, in all streams.
        backward_gain: Norm of the gradient in the same tensors after the block, for norm 1 after the last block.
        wiring_gain: The most that a disturbance of the streams can have grown to without branches.
        cosine: Cosine of the contribution and what it is added to.
        influence: 1 - cosine of what this block and the next one read.
        likeness: Mean cosine of two streams after the block; None for one stream.
    """

    index: int
    name: str
    stage: int
    state_rms: float
    branch_rms: float
    share: float
    share_spread: float
    predicted_share: float
    forward_gain: float
    backward_gain: float
    wiring_gain: float
    cosine: float
    influence: float
    likeness: float | None


@dataclass(frozen=True, repr=False)
class WiringDiagnosis:
    """The diagnosis of every block of any residual network; as text, a table.

    Attributes:
        model: The name of its class.
        examples: How many images or texts were looked at.
        statistics: Whose mean and variance batch norms used, "running" or "batch".
        wiring: What every block keeps, writes and reads.
    """

    model: str
    examples: int
    statistics: str
    wiring: MeasuredWiring
    blocks: tuple[BranchDiagnosis, ...]

    @property
    def effective_depth(self) -> EffectiveDepth:
        """How many blocks are in use, sum_n s_n / (s_n + 0.1), by predicted and by measured shares."""
        return EffectiveDepth(
            depth_of([block.predicted_share for block in self.blocks]), depth_of([block.share for block in self.blocks])
        )

    @property
    def prediction_error(self) -> float:
        """The largest difference of a predicted and a measured share, in decades."""
        pairs = [(block.predicted_share, block.share) for block in self.blocks]
        known = [abs(math.log10(a / b)) for a, b in pairs if a > 0 and 0 < b < math.inf]
        return max(known, default=math.nan)

    def blocks_above(self, least: float = 0.01) -> int:
        """Count the blocks whose measured share is at least this."""
        return sum(block.share >= least for block in self.blocks)

    def headline(self, label: str | None = None, source: str = "") -> str:
        """Describe the whole network.

        Args:
            label: Its name, by default that of its class.
            source: Where the examples come from, such as "of noise".
        """
        depth, total, wiring = self.effective_depth, len(self.blocks), self.wiring
        streams = "one stream" if wiring.streams == 1 else f"{wiring.streams} streams"
        mixing = "computed from the state" if wiring.depends_on_input else "fixed"
        spread = f", spread {wiring.spread:.2g}" if wiring.spread else ""
        examples = " ".join(filter(None, (f"{self.examples} example{'s' * (self.examples != 1)}", source)))
        lines = [
            f"{label or self.model}: effective depth {depth.measured:.1f} of {total} blocks, measured",
            f"{depth.predicted:.1f} predicted by the wiring and the measured sizes of the branches",
            f"{streams}, mixing {mixing}{spread}; {self.blocks_above()} of {total} blocks above 1 %",
            f"on {examples}, {self.statistics} statistics",
            wiring.note,
        ]
        return "\n".join(filter(None, lines))

    def columns(self) -> list[tuple[str, list[str]]]:
        """Write the numbers of all blocks, by column; keeps and writes are the entries of A and b largest in size."""
        blocks, steps = self.blocks, self.wiring.steps
        columns = [
            ("block", [block.name for block in blocks]),
            ("share", [_short(block.share) for block in blocks]),
            ("±", [_short(block.share_spread) for block in blocks]),
            ("predicted", [_short(block.predicted_share) for block in blocks]),
            ("keeps", [_short(max((float(a) for row in step.A for a in row), key=abs)) for step in steps]),
            ("writes", [_short(max((float(b) for b in step.b), key=abs)) for step in steps]),
            ("forward", [_short(block.forward_gain) for block in blocks]),
            ("backward", [_short(block.backward_gain) for block in blocks]),
            ("cosine", [f"{block.cosine:.3f}" for block in blocks]),
            ("influence", [_short(block.influence) for block in blocks]),
        ]
        if self.wiring.streams > 1:
            columns.append(("alike", ["-" if block.likeness is None else f"{block.likeness:.3f}" for block in blocks]))
        return columns

    def __repr__(self) -> str:
        depth = f"effective depth {self.effective_depth.measured:.1f} of {len(self.blocks)}"
        return f"WiringDiagnosis({self.model}: {depth})"

    def __str__(self) -> str:
        return f"{self.headline()}\n{text_table(self.columns())}"

    def _repr_html_(self) -> str:
        return html_columns(self.headline(), self.columns())

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready object; numbers that overflowed are null."""
        steps = zip(self.wiring.steps, self.wiring.measured)
        return {
            "model": self.model,
            "examples": self.examples,
            "statistics": self.statistics,
            "streams": self.wiring.streams,
            "depends_on_input": self.wiring.depends_on_input,
            "effective_depth": {key: finite_or_none(value) for key, value in asdict(self.effective_depth).items()},
            "blocks_above_1_percent": self.blocks_above(),
            "blocks": [{key: finite_or_none(value) for key, value in asdict(block).items()} for block in self.blocks],
            "wiring": [
                {"A": _floats(step.A), "b": _floats(step.b), "c": _floats(step.c), **asdict(measured)}
                for step, measured in steps
            ],
            "read": _floats(self.wiring.read),
            "unread": [asdict(one) for one in self.wiring.unread],
        }


def _short(number: float) -> str:
    return f"{number:.3g}" if number == 0 or abs(number) >= 1e-2 else f"{number:.2g}"


def _floats(values: Iterable[Any]) -> Any:
    return np.array(list(values), dtype=np.float64).tolist()

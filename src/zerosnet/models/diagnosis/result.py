"""The diagnosis of a network as a value: what every block does, and how much of the depth is used."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from zerosnet.models.diagnosis.display import html_columns, short, text_table
from zerosnet.numerics import Scheme, effective_depth, root_condition

TOLERANCE = 0.01
"""Accuracy that `used_depth` lets go: one point."""

LEAST_SHARE = 1e-2
"""Blocks that add less than this to the state count as idle in `Diagnosis.blocks_above`."""


@dataclass(frozen=True)
class EffectiveDepth:
    """How many blocks are in use, sum_n s_n / (s_n + 0.1), by predicted shares and by measured ones.

    predicted is None for networks whose shares the coefficients do not tell.
    """

    predicted: float | None
    measured: float


@dataclass(frozen=True)
class BlockDiagnosis:
    """Block n, which makes y_{n+1} out of y_n and its history."""

    index: int
    stage: int
    scheme: Scheme
    state_rms: float
    """rms(y_{n+1})"""
    residual_rms: float
    """rms(beta f(y_n))"""
    forward_growth: float
    """rms of a small disturbance in y_{n+1}, for rms 1 in y_0."""
    backward_growth: float
    """Norm of dL/dy_{n+1}, for norm 1 in dL/dy_N."""
    forward_envelope: float
    """The most that a disturbance of modulus 1 in the starting values can have grown to without f, by the scheme."""
    backward_envelope: float
    """The same from y_{n+1} and its history to y_N."""
    accuracy_without: float | None
    """Accuracy with f switched off from this block on."""
    predicted_share: float | None = None
    """The ratio that the coefficients alone predict at initialisation; None if they do not tell."""

    @property
    def ratio(self) -> float:
        """The measured share, rms(beta f) / rms(y): what the block adds to what it hands on."""
        return self.residual_rms / self.state_rms if self.state_rms else math.inf


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The diagnosis of every block of a network on a batch of images; as text, a table."""

    model: str
    images: int
    statistics: str
    """The mean and variance that the batch norms used: "running" or "batch"."""
    blocks: tuple[BlockDiagnosis, ...]
    accuracy: float | None
    """The accuracy of the whole network, if labels were given."""

    @property
    def scheme(self) -> Scheme | None:
        """The one scheme of all multistep blocks, if there is one; start-up blocks do not count."""
        schemes = set(self.multistep_schemes)
        return schemes.pop() if len(schemes) == 1 else None

    @property
    def multistep_schemes(self) -> list[Scheme]:
        steps = max(block.scheme.steps for block in self.blocks)
        return [block.scheme for block in self.blocks if block.scheme.steps == steps]

    @property
    def verdict(self) -> str:
        """The root condition's word on the scheme, or on how many of the blocks' own schemes are zero-stable."""
        if self.scheme is not None:
            return root_condition(self.scheme).kind
        schemes = self.multistep_schemes
        stable = sum(root_condition(scheme).zero_stable is True for scheme in schemes)
        return f"{stable} of {len(schemes)} blocks zero-stable"

    @property
    def effective_depth(self) -> EffectiveDepth:
        """How many blocks are in use, by predicted and by measured shares: the definition of `Wiring`."""
        predicted = [block.predicted_share for block in self.blocks if block.predicted_share is not None]
        known = len(predicted) == len(self.blocks)
        return EffectiveDepth(depth_of(predicted) if known else None, depth_of([block.ratio for block in self.blocks]))

    @property
    def used_depth(self) -> int | None:
        """The fewest first blocks that keep the network's accuracy (`used_depth`); None without labels."""
        without = [block.accuracy_without for block in self.blocks if block.accuracy_without is not None]
        return None if self.accuracy is None else used_depth(self.accuracy, without)

    def blocks_above(self, least: float = LEAST_SHARE) -> int:
        """Count the blocks whose measured share is at least this."""
        return sum(block.ratio >= least for block in self.blocks)

    def effective_depth_text(self) -> str:
        """Write the effective depth: "effective depth 4.6 predicted, 4.9 measured, of 27 blocks"."""
        depth = self.effective_depth
        predicted = "" if depth.predicted is None else f"{depth.predicted:.1f} predicted, "
        return f"effective depth {predicted}{depth.measured:.1f} measured, of {len(self.blocks)} blocks"

    def columns(self) -> list[tuple[str, list[str]]]:
        """Write the numbers of all blocks, by column; accuracies with f off if there were labels."""
        blocks = self.blocks
        off = [f"{100 * block.accuracy_without:.1f}" for block in blocks if block.accuracy_without is not None]
        return [
            ("block", [str(block.index) for block in blocks]),
            ("stage", [str(block.stage + 1) for block in blocks]),
            ("share", [short(block.ratio) for block in blocks]),
            ("predicted", ["-" if (s := block.predicted_share) is None else short(s) for block in blocks]),
            *([("f off", off)] if self.accuracy is not None else []),
            ("rms y", [short(block.state_rms) for block in blocks]),
            ("forward", [short(block.forward_growth) for block in blocks]),
            ("alone", [short(block.forward_envelope) for block in blocks]),
            ("backward", [short(block.backward_growth) for block in blocks]),
            ("alone", [short(block.backward_envelope) for block in blocks]),
        ]

    def __repr__(self) -> str:
        return f"Diagnosis({self.model}: {self.effective_depth_text()})"

    def __str__(self) -> str:
        return f"{self._headline()}\n{text_table(self.columns())}"

    def _repr_html_(self) -> str:
        return html_columns(self._headline(), self.columns())

    def _headline(self) -> str:
        used = "" if self.used_depth is None else f"; used depth {self.used_depth}"
        about = f"on {self.images} images, {self.statistics} statistics"
        return f"{self.model}: {self.effective_depth_text()}{used}\n{about}"

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready object; numbers that overflowed are null."""
        return {
            "model": self.model,
            "images": self.images,
            "statistics": self.statistics,
            "scheme": None if self.scheme is None else self.scheme.to_json(),
            "verdict": self.verdict,
            "used_depth": self.used_depth,
            "effective_depth": {key: finite_or_none(value) for key, value in asdict(self.effective_depth).items()},
            "blocks_above_1_percent": self.blocks_above(),
            "accuracy": self.accuracy,
            "blocks": [
                {key: finite_or_none(value) for key, value in asdict(block).items()}
                | {"scheme": block.scheme.to_json(), "ratio": finite_or_none(block.ratio)}
                for block in self.blocks
            ],
        }


def used_depth(accuracy: float, accuracy_without: Sequence[float]) -> int:
    """Count the fewest first blocks that reach an accuracy within one point, f switched off in all later ones.

    Args:
        accuracy: The accuracy of the whole network, a fraction.
        accuracy_without: The accuracy with f off from block n on, for n = 0, 1, ...

    Examples:
        >>> used_depth(0.95, [0.1, 0.5, 0.945, 0.95])
        2
    """
    enough = [value >= accuracy - TOLERANCE for value in accuracy_without]
    return next((n for n in range(len(enough)) if all(enough[n:])), len(enough))


def finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def depth_of(shares: Sequence[float]) -> float:
    """Add up s / (s + 0.1); a block whose state vanished has an infinite share and counts as one."""
    return float(effective_depth(np.minimum(shares, 1e300)))

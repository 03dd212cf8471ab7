"""What `diagnose` finds, as a value."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.checks import finite
from zerosnet.numerics import Scheme, root_condition


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

    @property
    def ratio(self) -> float:
        """rms(beta f) / rms(y): what the block adds to what it hands on."""
        return self.residual_rms / self.state_rms if self.state_rms else math.inf


@dataclass(frozen=True)
class Diagnosis:
    """What every block of a network does to a batch of images."""

    model: str
    images: int
    statistics: str
    """Whose mean and variance the batch norms used: "running" or "batch"."""
    blocks: tuple[BlockDiagnosis, ...]
    accuracy: float | None
    """Of the whole network, where labels were given."""

    @property
    def scheme(self) -> Scheme | None:
        """The one scheme of all multistep blocks, where there is one; start-up blocks do not count."""
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

    def effective_depth(self, least: float = 1e-2) -> int:
        """How many blocks add at least this share to the state."""
        return sum(block.ratio >= least for block in self.blocks)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready object; numbers that overflowed are null."""
        return {
            "model": self.model,
            "images": self.images,
            "statistics": self.statistics,
            "scheme": None if self.scheme is None else self.scheme.to_json(),
            "verdict": self.verdict,
            "effective_depth": self.effective_depth(),
            "accuracy": self.accuracy,
            "blocks": [
                {key: finite(value) for key, value in asdict(block).items()}
                | {"scheme": block.scheme.to_json(), "ratio": finite(block.ratio)}
                for block in self.blocks
            ],
        }

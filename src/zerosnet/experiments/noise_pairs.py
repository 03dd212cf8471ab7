"""Pairs of one network in two scales: a scheme that is not zero-stable, and a zero-stable one that computes the same.

Every branch normalises its input, so the state may be divided by R^n (the gauge theorem of docs/law.md): alphas a_i
with beta growing by g are the alphas a_i / R^(i+1) with beta / R growing by g / R. Only the first blocks, which start
the multistep scheme, are not rescaled. If the root condition itself did something to a network, it would show here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose

from zerosnet.experiments.noise_comparison import NoisyNetwork

_ROUNDED = 1e-3  # the coefficients of recorded pairs are rounded to four digits


@dataclass(frozen=True)
class GaugePair:
    """The same network with a scheme that is not zero-stable and with a zero-stable one."""

    unstable: NoisyNetwork
    stable: NoisyNetwork

    @property
    def clean_difference(self) -> float:
        return self.unstable.clean - self.stable.clean

    def difference(self, noise: str) -> float:
        """Accuracy under noise of the unstable one less that of the stable one, in points."""
        return self.unstable.noisy[noise] - self.stable.noisy[noise]


def gauge_pairs(networks: Iterable[NoisyNetwork]) -> list[GaugePair]:
    """Find all pairs of networks that differ by the scale of their state alone, in order of clean accuracy."""
    recursions = [(one, found) for one in networks if (found := _recursion(one)) is not None]
    stable = [(one, found) for one, found in recursions if one.zero_stable]
    others = [(one, found) for one, found in recursions if not one.zero_stable]
    return [GaugePair(one, peer) for one, a in others for peer, b in stable if a.is_rescaled(b)]


@dataclass(frozen=True)
class _Recursion:
    """The recursion of a network as floats; `growth` is the factor of the betas from block to block."""

    model: str
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    growth: float

    def is_rescaled(self, other: "_Recursion") -> bool:
        """Check if dividing the state by the power of a rate makes the other one of this."""
        if (self.model, len(self.alphas), len(self.betas)) != (other.model, len(other.alphas), len(other.betas)):
            return False
        rate = self.growth / other.growth
        alphas = [alpha / rate ** (lag + 1) for lag, alpha in enumerate(self.alphas)]
        betas = [beta / rate ** (lag + 1) for lag, beta in enumerate(self.betas)]
        pairs = zip((*alphas, *betas), (*other.alphas, *other.betas))
        return all(isclose(ours, theirs, rel_tol=_ROUNDED) for ours, theirs in pairs)


def _recursion(network: NoisyNetwork) -> _Recursion | None:
    """Read it off the spec; None for a network with growing initial weights, a scheme per block, or restarts."""
    spec = network.spec
    if spec is None or spec.scheme is None:
        return None
    if any(value is not None for value in (spec.init_growth, spec.stage_change, spec.block_schemes)):
        return None
    alphas, betas = (tuple(map(float, values)) for values in (spec.scheme.alphas, spec.scheme.betas))
    return _Recursion(spec.model, alphas, betas, float(spec.beta_growth or 1))

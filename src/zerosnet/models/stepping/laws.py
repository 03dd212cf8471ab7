"""Laws: how the trained numbers of a block become the coefficients of its scheme. All arithmetic is in float64.

| Law | Numbers of a block | Scheme |
|---|---|---|
| `LambdaLaw` | lambda | the paper's 3-step family, order 2: unconstrained, as ZeroSNet-Tra |
| `LmLaw` | k | LM-ResNet, alphas (1 - k, k): unconstrained |

The laws of `stable` are the ones that cannot leave the zero-stable region.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.numerics import LM_BETAS, Scheme


class Law(Protocol):
    """Free numbers of a block (..., size) -> its base, in which the coefficients are linear -> its coefficients."""

    @property
    def steps(self) -> int: ...

    @property
    def size(self) -> int:
        """How many free numbers a block has."""

    def base(self, values: Tensor) -> Tensor: ...

    def alphas(self, base: Tensor) -> Tensor:
        """(..., steps)."""

    def beta(self, base: Tensor) -> Tensor | None:
        """(...), or None where beta is 1 whatever the numbers."""

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        """The free numbers that give this scheme; an error if none do."""

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        """Start values (blocks, size)."""


@dataclass(frozen=True)
class LambdaLaw:
    """The lambda family, linear in mu = 1/lambda; free number lambda, from the paper's start value 1."""

    steps = 3
    size = 1

    def base(self, values: Tensor) -> Tensor:
        return 1 / values

    def alphas(self, base: Tensor) -> Tensor:
        return lambda_alphas(base)

    def beta(self, base: Tensor) -> Tensor:
        return lambda_beta(base)

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        mu = lambda_reciprocal(scheme)
        if mu == 0:
            raise InputError(f"start is {scheme}; expected a member of zerosnet(lambda) with finite lambda")
        return (1 / mu,)

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        return torch.ones(blocks, 1, dtype=torch.float64, device="cpu")


@dataclass(frozen=True)
class LmLaw:
    """alphas (1 - k, k), beta 1 + slope * k; free number k, drawn from U[-0.1, 0] as in LM-ResNet."""

    slope: int = 0

    steps = 2
    size = 1

    def __post_init__(self) -> None:
        if self.slope not in LM_BETAS.values():
            raise InputError(f"slope is {self.slope!r}; expected one of {', '.join(map(str, LM_BETAS.values()))}")

    def base(self, values: Tensor) -> Tensor:
        return values

    def alphas(self, base: Tensor) -> Tensor:
        return torch.cat((1 - base, base), -1)

    def beta(self, base: Tensor) -> Tensor | None:
        return 1 + self.slope * base[..., 0] if self.slope else None

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        k = float(scheme.alphas[1]) if len(scheme.alphas) == 2 else 0.0
        check_member(scheme, (1 - k, k), 1 + self.slope * k, f"alphas 1 - k, k and beta 1 + {self.slope}k")
        return (k,)

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        return torch.empty(blocks, 1, dtype=torch.float64, device="cpu").uniform_(-0.1, 0, generator=generator)


def lambda_alphas(mu: Tensor) -> Tensor:
    """(3(1 + mu)/4, -mu, (1 + mu)/4) with mu = 1/lambda, shape (..., 1)."""
    quarter = (1 + mu) / 4
    return torch.cat((3 * quarter, -mu, quarter), -1)


def lambda_beta(mu: Tensor) -> Tensor:
    """(3 - mu)/2 with mu = 1/lambda, shape (..., 1)."""
    return (3 - mu[..., 0]) / 2


def lambda_reciprocal(scheme: Scheme) -> float:
    """1/lambda of a member of the lambda family."""
    mu = -float(scheme.alphas[1]) if len(scheme.alphas) == 3 else 0.0
    check_member(scheme, (3 * (1 + mu) / 4, -mu, (1 + mu) / 4), (3 - mu) / 2, "a member of zerosnet(lambda)")
    return mu


def check_member(scheme: Scheme, alphas: tuple[float, ...], beta: float, accepted: str) -> None:
    found = (len(scheme.alphas), *map(float, (*scheme.alphas, *scheme.betas)))
    expected = (len(alphas), *alphas, beta)
    if len(found) != len(expected) or any(abs(a - b) > 1e-12 for a, b in zip(found, expected)):
        raise InputError(f"start is {scheme}; expected {accepted}")

"""Laws: how the trained numbers of a block become the coefficients of its scheme. All arithmetic is in float64.

| Law | Numbers of a block | Scheme |
|---|---|---|
| `LambdaLaw` | lambda | the paper's 3-step family, order 2: unconstrained, as ZeroSNet-Tra |
| `LmLaw` | k | LM-ResNet, alphas (1 - k, k): unconstrained |
| `StableRootsLaw` | d - 1 reflection coefficients | d steps, order 1, zero-stable whatever the optimiser does |
| `StableLambdaLaw` | mu = 1/lambda, squashed | the lambda family, zero-stable whatever the optimiser does |

**Order 1.** rho(z) = (z - 1) q(z) with q monic of degree d - 1; beta = rho'(1) = q(1) makes it consistent. The roots of
q are to stay in the disk |z| <= R = 0.99. Roots themselves are poor parameters: where two real roots meet and turn
into a complex pair, they are not differentiable, and one has to choose beforehand how many are real. The reflection
coefficients k_1, ..., k_{d-1} of q have neither fault: the step-up recursion

    a_m = k_m,   a_i <- a_i + k_m a_{m-i}   (0 < i < m),   m = 1, ..., d - 1

maps the cube (-1, 1)^{d-1} smoothly and one-to-one onto the monic polynomials with all roots in the open unit disk
(Schur and Cohn), real and complex alike; z -> z/R shrinks the disk. For d = 3, q = z^2 + R k_1 (1 + k_2) z + R^2 k_2.
The cube comes from free numbers by u / sqrt(1 + u^2), whose tails, unlike tanh's, keep a gradient far out. It may
well round to 1: the roots then lie on the circle of radius R, still inside the unit circle.

Where all reflection coefficients are 1, q = (z + R)^{d-1}; rounding its coefficients moves a root of multiplicity m by
eps^(1/m). So that float64 can still tell these roots from the unit circle, R = 1 - 5 * 2^(-40/(d-1)) from 6 steps on
(0.95 at 7, 0.84 at 9, 0.60 at 12).

**Order 2.** The lambda family is linear in mu = 1/lambda, and its stable set (-inf, -1) U (1/3, inf) is, in mu, the
one interval (-1, 3): mu = centre + halfwidth * u / sqrt(1 + u^2), cut where the largest parasitic root has modulus R.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.numerics import LM_BETAS, OPTIMUM, Scheme

RADIUS = 0.99
MOST_STEPS = 12


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
        """(...), or None if beta is 1 whatever the numbers."""

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        """Find the free numbers that give this scheme; an error if none do."""

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


@dataclass(frozen=True)
class StableRootsLaw:
    """Consistent schemes of d steps and one beta, their d - 1 parasitic roots free in a disk of radius `radius`.

    Starts at the optimal scheme if it has 3 steps, at Euler's (all parasitic roots 0) otherwise.
    """

    steps: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int) or not 2 <= self.steps <= MOST_STEPS:
            raise InputError(f"steps is {self.steps!r}; expected 2 to {MOST_STEPS}")

    @property
    def size(self) -> int:
        return self.steps - 1

    @property
    def radius(self) -> float:
        """The radius of the disk: 0.99, and less from 6 steps on."""
        return min(RADIUS, 1 - 5 * 2 ** (-40 / self.size))

    def base(self, values: Tensor) -> Tensor:
        """Coefficients of q without the leading 1, highest power first: step-up recursion, then the smaller disk."""
        q: list[Tensor] = []
        for k in squash(values).unbind(-1):
            q = [*(a + k * b for a, b in zip(q, reversed(q))), k]
        return torch.stack([a * self.radius**i for i, a in enumerate(q, start=1)], -1)

    def alphas(self, base: Tensor) -> Tensor:
        """(1 - q_1, q_1 - q_2, ..., q_{d-1}): minus the coefficients of (z - 1) q(z)."""
        one = torch.ones_like(base[..., :1])
        q = torch.cat((one, base), -1)
        return q - torch.cat((base, torch.zeros_like(one)), -1)

    def beta(self, base: Tensor) -> Tensor:
        """q(1)."""
        return 1 + base.sum(-1)

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        alphas = [float(a) for a in scheme.alphas]
        if len(alphas) != self.steps or len(scheme.betas) != 1:
            raise InputError(f"start is {scheme}; expected a scheme with {self.steps} alphas and one beta")
        q = [1.0]
        for alpha in alphas[:-1]:
            q.append(q[-1] - alpha)
        if abs(sum(alphas) - 1) > 1e-12 or abs(sum(q) - float(scheme.betas[0])) > 1e-12:
            raise InputError(f"start is {scheme}; expected a consistent scheme")
        return tuple(_stretch(k) for k in self._reflections(scheme, q))

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        start = self.values(OPTIMUM) if self.steps == OPTIMUM.steps else (0.0,) * self.size
        return torch.tensor(start, dtype=torch.float64, device="cpu").expand(blocks, -1)

    def _reflections(self, scheme: Scheme, q: list[float]) -> list[float]:
        """The inverse, step-down recursion."""
        a = [c / self.radius**i for i, c in enumerate(q)][1:]
        reflections: list[float] = []
        while a:
            k = a.pop()
            if abs(k) >= 1:
                raise InputError(f"start is {scheme}; expected parasitic roots of modulus below {self.radius:.4g}")
            a = [(x - k * y) / (1 - k * k) for x, y in zip(a, reversed(a))]
            reflections.insert(0, k)
        return reflections


@dataclass(frozen=True)
class StableLambdaLaw:
    """The lambda family with 1/lambda kept in the interval where all parasitic roots have modulus below 0.99."""

    steps = 3
    size = 1

    # q(z) = z^2 + (1 - 3t) z + t with t = (1 + mu)/4: q(-R) = 0 at the lower end, t = R^2 (a complex pair) at the upper
    LOWER = 4 * RADIUS * (1 - RADIUS) / (1 + 3 * RADIUS) - 1
    UPPER = 4 * RADIUS**2 - 1

    def base(self, values: Tensor) -> Tensor:
        return (self.LOWER + self.UPPER) / 2 + (self.UPPER - self.LOWER) / 2 * squash(values)

    def alphas(self, base: Tensor) -> Tensor:
        return lambda_alphas(base)

    def beta(self, base: Tensor) -> Tensor:
        return lambda_beta(base)

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        mu = lambda_reciprocal(scheme)
        if not self.LOWER < mu < self.UPPER:
            raise InputError(f"start is {scheme}; expected 1/lambda between {self.LOWER:.4f} and {self.UPPER:.4f}")
        return (_stretch((2 * mu - self.LOWER - self.UPPER) / (self.UPPER - self.LOWER)),)

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        return torch.full((blocks, 1), self.values(OPTIMUM)[0], dtype=torch.float64, device="cpu")


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


def squash(u: Tensor) -> Tensor:
    """u / sqrt(1 + u^2), a smooth map onto (-1, 1)."""
    u = u.clamp(-1e30, 1e30)  # its square must not overflow
    return u * torch.rsqrt(1 + u * u)


def _stretch(k: float) -> float:
    return k / (1 - k * k) ** 0.5

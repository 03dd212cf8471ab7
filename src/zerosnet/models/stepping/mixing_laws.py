"""Laws of residual mixing: how trained numbers become what a block keeps and writes. All arithmetic is in float64.

| Law | Numbers of a block | Scheme |
|---|---|---|
| `SimplexLaw` | d logits | alphas >= 0 with sum 1, beta = 1 + sum_i i alpha_i: consistent |
| `GainsLaw` | what is kept, what is added | y_{n+1} = keep y_n + add f_n: the residual gains of speed records |

A row-stochastic companion matrix has a norm of 1 (largest row sum), and so have all products of such matrices, whatever
the optimiser does: perturbations do not grow with depth. `LmLaw` with k between 0 and 1 is the simplex of two steps.
"""

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.models.stepping.laws import MOST_STEPS
from zerosnet.numerics import OPTIMUM, Scheme


@dataclass(frozen=True)
class SimplexLaw:
    """Consistent schemes of d steps and one beta whose alphas are weights: not negative, and their sum is 1.

    Starts at the optimal scheme if it has 3 steps, which is such a scheme, and at equal weights otherwise.
    """

    steps: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int) or not 2 <= self.steps <= MOST_STEPS:
            raise InputError(f"steps is {self.steps!r}; expected 2 to {MOST_STEPS}")

    @property
    def size(self) -> int:
        return self.steps

    def base(self, values: Tensor) -> Tensor:
        """All weights but the first one."""
        return torch.softmax(values, -1)[..., 1:]

    def alphas(self, base: Tensor) -> Tensor:
        first = (1 - base.sum(-1, keepdim=True)).clamp(min=0)
        return torch.cat((first, base), -1)

    def beta(self, base: Tensor) -> Tensor:
        """1 + sum_i i alpha_i, the derivative of rho at 1."""
        lags = torch.arange(1, self.steps, dtype=base.dtype, device=base.device)
        return 1 + (base * lags).sum(-1)

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        alphas = [float(a) for a in scheme.alphas]
        if len(alphas) != self.steps or len(scheme.betas) != 1 or min(alphas) <= 0:
            raise InputError(f"start is {scheme}; expected {self.steps} positive alphas and one beta")
        beta = 1 + sum(i * alpha for i, alpha in enumerate(alphas))
        if abs(sum(alphas) - 1) > 1e-12 or abs(float(scheme.betas[0]) - beta) > 1e-12:
            raise InputError(f"start is {scheme}; expected a consistent scheme")
        return tuple(log(alpha) for alpha in alphas)

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        start = self.values(OPTIMUM) if self.steps == OPTIMUM.steps else (0.0,) * self.steps
        return torch.tensor(start, dtype=torch.float64, device="cpu").expand(blocks, -1)


@dataclass(frozen=True)
class GainsLaw:
    """y_{n+1} = keep y_n + add f_n, two trained numbers per block, both 1 at the start."""

    steps = 1
    size = 2

    def base(self, values: Tensor) -> Tensor:
        return values

    def alphas(self, base: Tensor) -> Tensor:
        return base[..., :1]

    def beta(self, base: Tensor) -> Tensor:
        return base[..., 1]

    def values(self, scheme: Scheme) -> tuple[float, ...]:
        if len(scheme.alphas) != 1 or len(scheme.betas) != 1:
            raise InputError(f"start is {scheme}; expected one alpha and one beta")
        return float(scheme.alphas[0]), float(scheme.betas[0])

    def draw(self, blocks: int, generator: torch.Generator) -> Tensor:
        return torch.ones(blocks, 2, dtype=torch.float64, device="cpu")


def scaled_steps(blocks: int) -> tuple[Scheme, ...]:
    """y_{n+1} = y_n + f_n / sqrt(n + 1): what block n adds shrinks as the state grows without it."""
    return tuple(Scheme([1], [(n + 1) ** -0.5]) for n in range(blocks))

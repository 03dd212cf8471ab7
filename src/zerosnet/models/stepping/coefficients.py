"""Where the blocks get their coefficients from: fixed by schemes, or trained under a law."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zerosnet.models.layers.replicated import Coefficient, one_by_one, rows
from zerosnet.models.stepping.laws import Law
from zerosnet.models.stepping.sums import BlockCoefficients
from zerosnet.numerics import Scheme


class Coefficients(nn.Module, ABC):
    """One row of coefficients for each multistep block (a "slot"); start-up blocks have none."""

    slots: int
    replicas: int
    alphas: int
    betas: int

    @abstractmethod
    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        """The rows of all slots, on the device and in the type of `like`."""

    @abstractmethod
    def schemes(self) -> list[list[Scheme]]:
        """The schemes in use now: for each replica one a slot, none at all where its numbers are not finite."""


class FixedCoefficients(Coefficients):
    """The same scheme in all blocks of a replica; schemes of different replicas have as many alphas and betas."""

    table: Tensor | None
    """(alphas + betas, K) where the replicas differ: ready on the device, so that nothing is copied in a step."""

    def __init__(self, schemes: Sequence[Scheme], slots: int) -> None:
        super().__init__()
        self.slots, self.replicas, self._schemes = slots, len(schemes), tuple(schemes)
        self.alphas, self.betas = len(schemes[0].alphas), len(schemes[0].betas)
        self._numbers = list(zip(*([float(c) for c in (*s.alphas, *s.betas)] for s in schemes)))
        differ = any(len(set(number)) > 1 for number in self._numbers)
        table = torch.tensor(self._numbers, dtype=torch.float64) if differ else None
        self.register_buffer("table", table, persistent=False)

    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        terms: tuple[Coefficient, ...]
        if self.table is None:
            terms = tuple(number[0] for number in self._numbers)
        elif one_by_one(like):
            terms = tuple(self._numbers)
        else:
            terms = self.table.to(like.dtype).unbind()
        return [BlockCoefficients(terms[: self.alphas], terms[self.alphas :])] * self.slots

    def schemes(self) -> list[list[Scheme]]:
        return [[scheme] * self.slots for scheme in self._schemes]

    def extra_repr(self) -> str:
        return ", ".join(map(str, dict.fromkeys(self._schemes)))


class TrainedCoefficients(Coefficients):
    """Numbers `values` (K * blocks, size), trained, and the law that turns them into coefficients, in float64."""

    def __init__(
        self, law: Law, slots: int, *, shared: bool = False, starts: Sequence[Scheme] = (), replicas: int = 1
    ) -> None:
        super().__init__()
        self.law, self.slots, self.replicas, self.shared = law, slots, replicas, shared
        self.alphas, self.betas = law.steps, 1
        self._starts = [law.values(scheme) for scheme in starts]
        self.blocks = 1 if shared else slots
        self.values = nn.Parameter(torch.empty(replicas * self.blocks, law.size))

    def reset_replica(self, replica: int, generator: torch.Generator) -> None:
        with torch.no_grad():
            start = torch.tensor(self._starts[replica]) if self._starts else self.law.draw(self.blocks, generator)
            rows(self.values, self.replicas)[replica] = start.to(self.values)

    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        base = self.law.base(rows(self.values, self.replicas).double().transpose(0, 1))  # (blocks, K, ...)
        alphas = self.law.alphas(base).to(like.dtype).transpose(1, 2)  # (blocks, steps, K)
        beta = self.law.beta(base)
        betas: Sequence[Coefficient] = [1.0] * self.blocks if beta is None else beta.to(like.dtype).unbind()
        table = [BlockCoefficients(a.unbind(), (b,)) for a, b in zip(alphas.unbind(), betas)]
        return table * self.slots if self.shared else table

    @torch.no_grad()
    def schemes(self) -> list[list[Scheme]]:
        """In float64, from a base on a grid: the alphas of a consistent law then add up to 1 to the last bit."""
        base = _gridded(self.law.base(rows(self.values, self.replicas).double().cpu()))  # (K, blocks, ...)
        beta = self.law.beta(base)
        betas = torch.ones(base.shape[:2], dtype=base.dtype) if beta is None else beta
        numbers = torch.cat((self.law.alphas(base), betas[..., None]), -1)  # (K, blocks, steps + 1)
        table = [[Scheme(block[:-1], block[-1:]) for block in own.tolist() if own.isfinite().all()] for own in numbers]
        return [schemes * self.slots if self.shared else schemes for schemes in table]

    def extra_repr(self) -> str:
        return f"{self.law}, blocks={self.blocks}, replicas={self.replicas}"


def _gridded(base: Tensor) -> Tensor:
    """Multiples of 2^-46, of more where a block's base exceeds 16, so that sums of a few of them are exact."""
    excess = (torch.frexp(base.abs().amax(-1, keepdim=True)).exponent - 4).clamp(min=0)
    step = torch.ldexp(torch.ones_like(base), excess - 46)
    return torch.round(base / step) * step

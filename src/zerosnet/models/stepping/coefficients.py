"""Coefficients of the blocks: fixed by schemes, or trained under a law."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zerosnet.models.layers.replicated import Coefficient, one_by_one, rows
from zerosnet.models.stepping.block_plan import BlockPlan
from zerosnet.models.stepping.laws import Law
from zerosnet.models.stepping.sums import BlockCoefficients
from zerosnet.numerics import Scheme


class Coefficients(nn.Module, ABC):
    """One row of coefficients for each multistep block (a "slot"), or for each block if `covers_start`."""

    slots: int
    replicas: int
    alphas: int
    betas: int
    covers_start = False
    """Start-up blocks have rows of their own; otherwise they are one-step, y_{n+1} = y_n + f_n."""

    @abstractmethod
    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        """Make the rows of all slots, on the device and in the type of `like`."""

    @abstractmethod
    def schemes(self) -> list[list[Scheme]]:
        """List the schemes in use now, one per slot for each replica; none for a replica that is not finite."""


class FixedCoefficients(Coefficients):
    """Fixed schemes, per replica one for each slot; all have as many alphas and as many betas."""

    table: Tensor | None
    """(rows, alphas + betas, K) if the replicas differ: on the device, so that nothing is copied in a step."""

    def __init__(self, schemes: Sequence[Sequence[Scheme]], plans: Sequence[BlockPlan]) -> None:
        super().__init__()
        first = schemes[0][0]
        self.slots, self.replicas = len(schemes[0]), len(schemes)
        self.alphas, self.betas = len(first.alphas), len(first.betas)
        self._schemes = [list(own) for own in schemes]
        self.covers_start = self.slots == len(plans)
        slots = [plan for plan in plans if plan.multistep or self.covers_start]
        numbers: dict[Scheme, tuple[float, ...]] = {}
        for own in schemes:
            for scheme in own:
                if scheme not in numbers:
                    numbers[scheme] = tuple(float(c) for c in (*scheme.alphas, *scheme.betas))
        rows = [
            (tuple(zip(*map(numbers.__getitem__, slot))), plan.multistep) for slot, plan in zip(zip(*schemes), slots)
        ]
        distinct = {row: place for place, row in enumerate(dict.fromkeys(rows))}
        self._places = [distinct[row] for row in rows]
        self._numbers = [row for row, _ in distinct]
        self._lengths = [self._length(*row) for row in distinct]
        differ = any(len(set(number)) > 1 for row in self._numbers for number in row)
        table = torch.tensor(self._numbers, dtype=torch.float64) if differ else None
        self.register_buffer("table", table, persistent=False)

    def _length(self, row: tuple[tuple[float, ...], ...], multistep: bool) -> tuple[int, int]:
        """How many alphas and betas a row has: all of them, in start-up up to the last one that is not 0."""
        if multistep:
            return self.alphas, self.betas
        used = [any(number) for number in row]
        return _up_to_last(used[: self.alphas]), _up_to_last(used[self.alphas :])

    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        terms: Sequence[Sequence[Coefficient]]
        if self.table is None:
            terms = [[number[0] for number in row] for row in self._numbers]
        elif one_by_one(like):
            terms = self._numbers
        else:
            terms = [row.unbind() for row in self.table.to(like.dtype).unbind()]
        rows = [
            BlockCoefficients(tuple(row[:alphas]), tuple(row[self.alphas : self.alphas + betas]))
            for row, (alphas, betas) in zip(terms, self._lengths)
        ]
        return [rows[place] for place in self._places]

    def schemes(self) -> list[list[Scheme]]:
        return [list(own) for own in self._schemes]

    def extra_repr(self) -> str:
        return ", ".join(map(str, dict.fromkeys(scheme for own in self._schemes for scheme in own)))


def _up_to_last(used: list[bool]) -> int:
    """How many entries there are up to the last one in use, and at least one."""
    return max((place + 1 for place, one in enumerate(used) if one), default=1)


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
        """List the schemes in float64, from a base on a grid: consistent alphas add up to 1 to the last bit."""
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

"""Several streams: X_{n+1} = A_n X_n + b_n f_n(c_n^T X_n) with trained matrices, as in hyper-connections.

| Mixing | A_n | b_n | c_n |
|---|---|---|---|
| "free" | any matrix, 1 at the start | any, 1 at the start | any, one stream after the other at the start |
| "doubly-stochastic" | rows and columns add up to 1, by Sinkhorn's iteration in float32 | in (0, 2) | in (0, 1) |
| "first-state" | y and the first state, y <- keep y + first y_0 + add f(y) | add | y |

With the matrices of the start, "free" and "first-state" are a pre-activation ResNet. At a change of shape every stream
has a projection of its own. The head reads the mean of the streams ("first-state": y).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.files import is_whole
from zerosnet.models.layers.replicated import rows
from zerosnet.models.stepping.history import BlockCoefficients
from zerosnet.models.stepping.stack import Coefficients
from zerosnet.models.structure import Structure
from zerosnet.numerics import Scheme, Wiring

ITERATIONS = 20
"""Rounds of Sinkhorn's algorithm."""

_CERTAIN = 6.0  # logit of what is nearly 1 at the start
MOST = 8

Matrices = tuple[Tensor, Tensor, Tensor]
"""A (..., m, m), b (..., m) and c (..., m)."""


def _split(values: Tensor, m: int) -> Matrices:
    A, b, c = values.split((m * m, m, m), -1)
    return A.unflatten(-1, (m, m)), b, c


def _free(values: Tensor, m: int) -> Matrices:
    return _split(values, m)


def _doubly_stochastic(values: Tensor, m: int) -> Matrices:
    A, b, c = _split(values.float(), m)
    return sinkhorn(A), 2 * torch.sigmoid(b), torch.sigmoid(c)


def _first_state(values: Tensor, m: int) -> Matrices:
    keep, first, add = values.unbind(-1)
    zero, one = torch.zeros_like(keep), torch.ones_like(keep)
    A = torch.stack((torch.stack((keep, first), -1), torch.stack((zero, one), -1)), -2)
    return A, torch.stack((add, zero), -1), torch.stack((one, zero), -1)


def sinkhorn(logits: Tensor, iterations: int = ITERATIONS) -> Tensor:
    """Make matrices doubly stochastic: rows and columns of exp(logits) divided by their sums in turn, in logarithms."""
    for _ in range(iterations):
        logits = logits.log_softmax(-1).log_softmax(-2)
    return logits.exp()


def _start_free(block: int, m: int) -> Tensor:
    return torch.cat((torch.eye(m).flatten(), torch.ones(m), torch.eye(m)[block % m]))


def _start_stochastic(block: int, m: int) -> Tensor:
    read = _CERTAIN * (2 * torch.eye(m)[block % m] - 1)
    return torch.cat(((_CERTAIN * torch.eye(m)).flatten(), torch.zeros(m), read))


def _start_first(block: int, m: int) -> Tensor:
    return torch.tensor([1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Mixing:
    """How trained numbers become matrices, and where they start."""

    matrices: Callable[[Tensor, int], Matrices]
    start: Callable[[int, int], Tensor]
    read: Callable[[int], list[float]]


def _mean(m: int) -> list[float]:
    return [1 / m] * m


MIXINGS = {
    "free": Mixing(_free, _start_free, _mean),
    "doubly-stochastic": Mixing(_doubly_stochastic, _start_stochastic, _mean),
    "first-state": Mixing(_first_state, _start_first, lambda m: [1.0, 0.0]),
}


@dataclass(frozen=True)
class StreamsLaw:
    """m streams, mixed by matrices that are trained block by block."""

    streams: int = 4
    mixing: str = "free"

    steps = 1

    def __post_init__(self) -> None:
        if self.mixing not in MIXINGS:
            raise InputError(f"mixing is {self.mixing!r}; expected one of {', '.join(MIXINGS)}")
        least, most = (2, 2) if self.mixing == "first-state" else (1, MOST)
        if not is_whole(self.streams) or not least <= self.streams <= most:
            raise InputError(f"streams is {self.streams!r}; expected a whole number from {least} to {most}")

    @property
    def kind(self) -> Mixing:
        return MIXINGS[self.mixing]

    @property
    def shape(self) -> tuple[object, ...]:
        """Equal for laws whose networks can be replicas of one: they have as many numbers, and are read alike."""
        return self.streams, len(self.kind.start(0, self.streams)), tuple(self.kind.read(self.streams))


class StreamCoefficients(Coefficients):
    """Numbers `values` (K * blocks, size), trained, which a mixing turns into matrices.

    `laws` are of one shape, one per replica.
    """

    covers_start = True
    alphas = betas = 1

    def __init__(self, laws: Sequence[StreamsLaw], slots: int) -> None:
        super().__init__()
        self.laws, self.law = tuple(laws), laws[0]
        self.slots, self.replicas = slots, len(laws)
        self._alike = [(law, len(list(group))) for law, group in groupby(self.laws)]
        size = len(self.law.kind.start(0, self.law.streams))
        self.values = nn.Parameter(torch.empty(self.replicas * slots, size))

    def reset_replica(self, replica: int, generator: torch.Generator) -> None:
        law = self.laws[replica]
        start = torch.stack([law.kind.start(n, law.streams) for n in range(self.slots)])
        with torch.no_grad():
            rows(self.values, self.replicas)[replica] = start.to(self.values)

    def matrices(self) -> Matrices:
        """(blocks, K, ...), computed at once for all blocks, and for neighbours that are mixed alike."""
        values = rows(self.values, self.replicas).transpose(0, 1)
        if len(self._alike) == 1:
            return self.law.kind.matrices(values, self.law.streams)
        apart = values.split([count for _, count in self._alike], 1)
        parts = [law.kind.matrices(own, law.streams) for (law, _), own in zip(self._alike, apart)]
        A, b, c = (torch.cat(part, 1) for part in zip(*parts))
        return A, b, c

    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        raise no_scheme("rows of coefficients")

    def schemes(self) -> list[list[Scheme]]:
        """Streams have no schemes: an empty list per replica."""
        return [[] for _ in range(self.replicas)]

    @torch.no_grad()
    def records(self) -> list[list[dict[str, Any]]]:
        """List A, b and c of every block in six digits, per replica; none for a replica that is not finite."""
        A, b, c = (part.double().cpu().transpose(0, 1) for part in self.matrices())  # (K, blocks, ...)
        return [
            [dict(zip("Abc", map(_digits, block))) for block in zip(*(part[k].tolist() for part in (A, b, c)))]
            if all(part[k].isfinite().all() for part in (A, b, c))
            else []
            for k in range(self.replicas)
        ]

    @torch.no_grad()
    def wiring(self, structure: Structure, replica: int = 0) -> Wiring:
        """The wiring of one replica with the matrices that it has now."""
        A, b, c = (part[:, replica].double().cpu().tolist() for part in self.matrices())
        read = self.law.kind.read(self.law.streams)
        return Wiring.of_matrices(A, b, c, read, blocks=structure.blocks, projection="each")

    def extra_repr(self) -> str:
        return f"{', '.join(map(str, dict.fromkeys(self.laws)))}, blocks={self.slots}, replicas={self.replicas}"


def _digits(values: Any) -> Any:
    return [_digits(value) for value in values] if isinstance(values, list) else float(f"{values:.6g}")


def no_scheme(what: str) -> InputError:
    return InputError(
        f"a network of several streams has no {what}; expected a network of schemes, or diagnose and "
        "wiring_of_network, which take both"
    )

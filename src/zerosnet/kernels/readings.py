"""The sums of a network of several streams: what is read, of which sources, with which weights, and back again.

From one change of shape to the next, a *section*, every stream is a sum of the section's sources: the streams at its
beginning, and what its blocks have added since (`zerosnet.models.stepping.stream_sums`). A *reading* is what a block or
the head reads, or a stream that is projected: one sum of sources, whose weights are known before the first of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.kernels.interface import MAX_STEPS
from zerosnet.models import StreamCoefficients


class ChainedSum(NamedTuple):
    """A sum in passes of up to four terms, from the second on with what has been summed so far as the first."""

    passes: list[list[int]]
    first_row: int
    """The row of the first pass in the table of weights, (rows, K, 4)."""


class Readings:
    """All readings of a forward pass, and the sums that close their sources on the way back.

    `weights` has a column for every reading and source, then one of ones and one of zeros. In a pass nothing is copied
    from the host, so that it can be recorded.

    Args:
        sections: How many there are.
        blocks: Blocks per section.
        streams: How many there are.
        read: What the head reads, a weight per stream.
        device: Where the network is.
    """

    def __init__(self, sections: int, blocks: int, streams: int, read: Sequence[float], device: torch.device) -> None:
        self.sections, self.blocks, self.streams = sections, blocks, streams
        self.width = streams + blocks
        self._last_stream = 1 + sections * blocks
        readings = self._last_stream + (sections - 1) * streams
        self._one, self._zero = readings * self.width, readings * self.width + 1
        self.columns = self._zero + 1
        self._rows: list[list[int]] = []
        self.forward = {
            reading: self._sum([self._column(reading, source) for source in range(self._sources(reading))])
            for reading in range(readings)
        }
        self.backward = {
            (section, source): self._sum([self._column(r, source) for r in self.readers(section, source)])
            for section, source in self._way_back()
        }
        table = torch.tensor(self._rows)
        back = [one.first_row + number for one in self.backward.values() for number in range(len(one.passes))]
        columns = table[back].flatten()
        known = columns < self._one
        self._table, self._dotted = table.to(device), columns[known].to(device)
        self._of_dots = known.nonzero()[:, 0].to(device)
        self._read = torch.tensor(list(read), dtype=torch.float64, device=device)
        self._units = torch.tensor([1.0, 0.0], dtype=torch.float64, device=device)

    def _way_back(self) -> list[tuple[int, int]]:
        """List (section, source) in the order in which a backward pass closes them."""
        return [
            (section, source)
            for section in reversed(range(self.sections))
            for base in [self.base(section)]
            for source in [*reversed(range(base, base + self.blocks)), *range(base)]
        ]

    def base(self, section: int) -> int:
        """Count what a section begins with: all streams are the stem's output at first."""
        return self.streams if section else 1

    def read(self, section: int, after: int) -> int:
        """Number what is read after so many blocks of a section; after none, that is part of the section before."""
        return section * self.blocks + after

    def stream(self, section: int, number: int) -> int:
        """Number a stream at the end of a section."""
        return self._last_stream + section * self.streams + number

    def readers(self, section: int, source: int) -> list[int]:
        """List the readings of a source, in the order in which their gradients become known."""
        made = max(0, source - self.base(section) + 1)
        least = max(made, 1 if section else 0)
        reads = [self.read(section, after) for after in range(self.blocks, least - 1, -1)]
        more = section + 1 < self.sections
        return [*(self.stream(section, i) for i in range(self.streams) if more), *reads]

    def weights(self, coefficients: StreamCoefficients, like: Tensor) -> Tensor:
        """Compute all weights, (K, columns), in float64; differentiable."""
        A, b, c = (part.double() for part in coefficients.matrices())
        replicas, m = A.shape[1], self.streams
        following = torch.cat((c[1:], self._read.expand_as(c[:1])))
        A, b, following = (part.unflatten(0, (self.sections, self.blocks)) for part in (A, b, following))
        streams = torch.eye(m, dtype=A.dtype, device=A.device).expand(self.sections, replicas, m, m)
        reads = []
        for j in range(self.blocks):
            streams = torch.cat((A[:, j] @ streams, b[:, j, :, :, None]), -1)
            reads.append(F.pad((following[:, j, :, None] @ streams)[..., 0, :], (0, self.blocks - 1 - j)))
        first = F.pad(c[0].sum(-1, keepdim=True), (0, self.width - 1))[:, None]
        parts = [first]
        parts += [self._folded(part, n).transpose(0, 1) for n, part in enumerate(torch.stack(reads).unbind(1))]
        parts += [self._folded(part, n) for n, part in enumerate(streams[:-1].unbind())]
        flat = torch.cat(parts, 1).flatten(1)
        return torch.cat((flat, self._units.expand(replicas, 2)), 1).to(like.dtype)

    def _folded(self, weights: Tensor, section: int) -> Tensor:
        """Add up the weights of the first section's streams, which are one tensor."""
        if section:
            return weights
        together = weights[..., : self.streams].sum(-1, keepdim=True)
        return F.pad(torch.cat((together, weights[..., self.streams :]), -1), (0, self.streams - 1))

    def rows(self, weights: Tensor) -> Tensor:
        """Gather the weights of every pass, (rows, K, 4)."""
        chosen = weights.index_select(1, self._table.flatten())
        return chosen.unflatten(1, self._table.shape).transpose(0, 1).contiguous()

    def gradient(self, dots: Sequence[Tensor], weights: Tensor) -> Tensor:
        """Put the inner products of a backward pass, (K, 4) per pass in its order, where their weights are."""
        values = torch.stack(list(dots), 1).flatten(1).index_select(1, self._of_dots)
        return torch.zeros_like(weights).index_copy_(1, self._dotted, values.to(weights.dtype))

    def _column(self, reading: int, source: int) -> int:
        return reading * self.width + source

    def _sources(self, reading: int) -> int:
        """Count the sources of a reading: all that its section has by then."""
        if reading >= self._last_stream:
            section, after = (reading - self._last_stream) // self.streams, self.blocks
        elif reading == 0:
            return 1
        else:
            section, after = (reading - 1) // self.blocks, (reading - 1) % self.blocks + 1
        return self.base(section) + after

    def _sum(self, columns: list[int]) -> ChainedSum:
        first = len(self._rows)
        terms = list(range(len(columns)))
        passes = [terms[:MAX_STEPS]]
        passes += [terms[i : i + MAX_STEPS - 1] for i in range(MAX_STEPS, len(terms), MAX_STEPS - 1)]
        for number, terms in enumerate(passes):
            row = [self._one] * (number > 0) + [columns[term] for term in terms]
            self._rows.append(row + [self._zero] * (MAX_STEPS - len(row)))
        return ChainedSum(passes, first)

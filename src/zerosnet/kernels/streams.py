"""A network of several streams through the kernels, without making the streams (`Readings`).

Sums and their adjoints are made by the kernel that adds up gradients, four tensors at a time, in bf16.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import torch
from torch import Tensor

from zerosnet.kernels.chips import WIDTHS
from zerosnet.kernels.head import Node, Opened, Tape
from zerosnet.kernels.interface import MAX_STEPS, ConvInner, Kernels, State, StateGradient
from zerosnet.kernels.patches import PointConvolution
from zerosnet.kernels.prepared import PreparedNetwork
from zerosnet.kernels.readings import ChainedSum, Readings
from zerosnet.models import Block, Conv, Network, StreamCoefficients, StreamStack


class Added(NamedTuple):
    """A block's branch, and what came out of it."""

    opened: Opened
    slope: Tensor


@dataclass(eq=False)
class Section:
    """The sources of a section: what it began with, and its blocks."""

    base: list[Tensor]
    projections: list[PointConvolution]
    blocks: list[Added] = field(default_factory=list)

    def sources(self) -> list[Tensor]:
        return [*self.base, *(block.slope for block in self.blocks)]


@dataclass(eq=False)
class StreamsTape(Tape):
    """A forward pass; `coefficients` are the weights of all sums, (K, columns)."""

    sections: list[Section]
    end: Node | None = None

    @property
    def last(self) -> Node:
        assert self.end is not None
        return self.end


@dataclass(eq=False)
class WayBack:
    """How far a backward pass has come.

    Attributes:
        weights: Those of all passes, (rows, K, 4).
        readings: Gradients of what the section read, by number.
        dots: Inner products of sources with gradients of what read them, (K, 4) per pass.
    """

    weights: Tensor
    readings: dict[int, Tensor] = field(default_factory=dict)
    dots: list[Tensor] = field(default_factory=list)


class NativeStreams(PreparedNetwork):
    """Forward and backward of a network of several streams for one batch size."""

    arithmetic = "bf16 convolutions, sums of streams and their gradients in bf16"

    def __init__(
        self,
        network: Network,
        kernels: Callable[[int, int], Kernels],
        *,
        weights: bool = True,
        gradients: Sequence[Tensor] | None = None,
    ) -> None:
        super().__init__(network, kernels, weights=weights, gradients=gradients)
        coefficients = network.stack.coefficients
        assert isinstance(coefficients, StreamCoefficients)
        self.coefficients, law, like = coefficients, coefficients.law, self.head.fc.weight
        blocks = len(self.blocks) // len(WIDTHS)
        self.readings = Readings(len(WIDTHS), blocks, law.streams, law.kind.read(law.streams), like.device)
        one = like.new_zeros(self.replicas, MAX_STEPS + 1)
        one[:, MAX_STEPS] = 1.0
        self._one = one  # the beta of every block: what is added is weighted in the sums
        self._nothing = one.new_empty(0)

    def projections(self, block: Block) -> list[Conv]:
        stack = cast(StreamStack, self.network.stack)
        others = cast(Sequence[Conv], stack.others[block.plan.index])
        return [*super().projections(block), *others]

    # -- forward -------------------------------------------------------------------------------------------------------

    def forward(self, images: Tensor, *, training: bool, record: bool = True) -> StreamsTape:
        weights = self.readings.weights(self.coefficients, self.head.fc.weight)
        tape = StreamsTape(weights, images, training, [])
        with torch.no_grad():
            rows, k = self.readings.rows(weights.detach()), self.kernels[WIDTHS[0][0]]
            y = k.stem(images, self.stem, self.norms[self.slopes[0].bn1], False)
            section = Section([y], [])
            seen = self._read(0, section, rows, k)
            for n, block in enumerate(self.blocks):
                number, within = divmod(n, self.readings.blocks)
                if training:
                    k.statistics(seen, self.norms[self.slopes[n].bn1])
                opened = self.open_branch(n, seen, k, training)
                if block.changes_shape:
                    section = self._next_section(block, number, section, rows, k)
                    k = self.kernels[block.plan.target.channels]
                    if not record:
                        tape.sections.clear()
                if within == 0:
                    tape.sections.append(section)
                section.blocks.append(Added(opened if record else self._used_up(opened), self._slope(n, opened, k)))
                seen = self._read(self.readings.read(number, within + 1), section, rows, k)
            if training:
                k.statistics(seen, self.norms[self.bn])
            tape.end = Node(State(seen, self._nothing), k)
        return tape

    def _used_up(self, opened: Opened) -> Opened:
        return Opened(self._nothing, self._nothing, None)

    def _slope(self, n: int, opened: Opened, k: Kernels) -> Tensor:
        """Compute f's second convolution."""
        f, out = self.slopes[n], k.activation()
        norm, packed = self.norms[f.bn2], self.layouts.packed[f.conv2.weight]
        k.conv_inner(ConvInner(opened.inner, norm.table, packed, out, norm, False))
        return out

    def _next_section(self, block: Block, number: int, before: Section, rows: Tensor, k: Kernels) -> Section:
        """Make all streams at the end of a section, and project them; `k` are the kernels of that section."""
        projections = []
        for i, conv in enumerate(self.projections(block)):
            stream = self._read(self.readings.stream(number - 1, i), before, rows, k)
            projections.append(PointConvolution(stream, self.layouts.matrices[conv.weight], k))
        return Section([one.result for one in projections], projections)

    def _read(self, reading: int, section: Section, rows: Tensor, k: Kernels) -> Tensor:
        return self._add(self.readings.forward[reading], section.sources(), rows, k)[0]

    def _add(
        self, wanted: ChainedSum, terms: Sequence[Tensor], rows: Tensor, k: Kernels, dots_with: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Sum tensors up; return the sum and, pass by pass, their inner products with a tensor."""
        total, dots = list[Tensor](), list[Tensor]()
        for number, places in enumerate(wanted.passes):
            out = k.activation()
            parts = (*total, *(terms[place] for place in places))
            found = k.state_gradient(
                StateGradient(None, rows[wanted.first_row + number], parts, out, dots_with=dots_with)
            )
            total = [out]
            dots += [] if found is None else [found]
        return total[0], dots

    # -- backward ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def backward(self, tape: Tape) -> Tensor:
        assert isinstance(tape, StreamsTape) and tape.last.gradient is not None
        way = WayBack(self.readings.rows(tape.coefficients.detach()))
        way.readings[self.readings.read(self.readings.sections - 1, self.readings.blocks)] = tape.last.gradient
        tape.end = first = None
        while tape.sections:
            first = self._section_backward(len(tape.sections) - 1, tape.sections.pop(), way, tape.training)
        assert first is not None
        for kernels in self.kernels.values():
            kernels.join()
        if self.weights:
            kernels = self.kernels[WIDTHS[0][0]]
            self.gradients[self.stem].copy_(kernels.stem_weight_gradient(tape.images, first))
            slopes = self.readings.gradient(way.dots, tape.coefficients)
            parameters = list(self.network.coefficient_parameters())
            for parameter, g in zip(parameters, torch.autograd.grad(tape.coefficients, parameters, slopes)):
                self.gradients[parameter].copy_(g)
        return first

    def _section_backward(self, number: int, section: Section, way: WayBack, training: bool) -> Tensor:
        """Go back through a section; return the gradient of the last of what it began with."""
        k, base, before = self.kernels[WIDTHS[number][0]], len(section.base), dict[int, Tensor]()
        while section.blocks:
            within = len(section.blocks) - 1
            n, added = number * self.readings.blocks + within, section.blocks.pop()
            gradient = self._close(number, base + within, added.slope, way, k)
            slope = self.branch_gradient(n, added.opened, gradient, self._one, training)
            seen = self.kernels[self.blocks[n].plan.source.channels].norm_backward(slope)
            of_this = way.readings if within or number == 0 else before
            of_this[self.readings.read(number, within)] = seen
        for source, value in enumerate(section.base):
            gradient = self._close(number, source, value, way, k)
            if number:
                wide = self.kernels[WIDTHS[number - 1][0]]
                conv = self.projections(self.blocks[number * self.readings.blocks])[source]
                through = self.project_back(section.projections[source], conv.weight, gradient, k)
                spread = wide.activation()
                wide.state_gradient(StateGradient(None, way.weights[0], (), spread, even=through))
                before[self.readings.stream(number - 1, source)] = spread
        way.readings = before
        return gradient

    def _close(self, section: int, source: int, value: Tensor, way: WayBack, k: Kernels) -> Tensor:
        """Add up the gradient of a source whose readers are done, and note what it means for their weights."""
        wanted = self.readings.backward[section, source]
        terms = [way.readings[reading] for reading in self.readings.readers(section, source)]
        total, dots = self._add(wanted, terms, way.weights, k, value if self.weights else None)
        way.dots += dots
        return total

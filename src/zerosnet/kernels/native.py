"""A CIFAR-size network with basic blocks through the kernels: forward, and backward by hand."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from zerosnet.kernels.chips import WIDTHS
from zerosnet.kernels.head import BlockTape, MultistepTape, Node, Projected, Tape
from zerosnet.kernels.interface import MAX_STEPS, ConvStep, Kernels, Slope, State, StateGradient
from zerosnet.kernels.patches import PointConvolution
from zerosnet.kernels.prepared import PreparedNetwork
from zerosnet.models import Network


class NativeNetwork(PreparedNetwork):
    """Forward and backward of a multistep network for one batch size."""

    arithmetic = "bf16 convolutions, state in 24 bits, its gradient in bf16"

    def __init__(
        self,
        network: Network,
        kernels: Callable[[int, int], Kernels],
        *,
        weights: bool = True,
        gradients: Sequence[Tensor] | None = None,
    ) -> None:
        super().__init__(network, kernels, weights=weights, gradients=gradients)
        self._terms = [len(row.alphas) for row in network.stack.rows(self.head.fc.weight)]
        self._fixed = None if self.is_trained else self._coefficients().detach()
        self._weights: dict[tuple[object, ...], Tensor] = {}
        self._zeros = {channels: torch.zeros_like(k.low()) for channels, k in self.kernels.items()}

    def _coefficients(self) -> Tensor:
        """Return (blocks, K, 5): four alphas and beta; differentiable if they are trained."""
        like = self.head.fc.weight
        blocks = []
        for row in self.network.stack.rows(like):
            numbers = (*row.alphas, *[0.0] * (MAX_STEPS - len(row.alphas)), row.betas[0])
            columns = [like.new_full((), c) if isinstance(c, float) else _vector(c, like) for c in numbers]
            blocks.append(torch.stack([column.expand(self.replicas) for column in columns], 1))
        return torch.stack(blocks)

    # -- forward -------------------------------------------------------------------------------------------------------

    def forward(self, images: Tensor, *, training: bool, record: bool = True) -> MultistepTape:
        coefficients = self._coefficients() if self._fixed is None else self._fixed
        with torch.no_grad():
            k = self.kernels[WIDTHS[0][0]]
            history = [self._node(k.stem(images, self.stem, self.norms[self.slopes[0].bn1], training), k)]
            tape = MultistepTape(coefficients, images, training)
            for n in range(len(self.blocks)):
                if not record:
                    tape.blocks.clear()
                tape.blocks.append(self._block(n, history, coefficients.detach()[n], training))
                history = self._history_after(n, tape.blocks[-1], history)
            self._drop_low_parts(history)
        return tape

    def _history_after(self, n: int, step: BlockTape, history: list[Node]) -> list[Node]:
        states = [p.node for p in step.projected] if step.opened.strided else history
        kept = [step.result, *states][: self.blocks[n].plan.keep_states]
        self._drop_low_parts(node for node in states if node not in kept)
        return kept

    def _drop_low_parts(self, nodes: Iterable[Node]) -> None:
        """Free the low parts of states that no multistep sum reads any more."""
        for node in nodes:
            node.state = State(node.state.high, self._zeros[node.kernels.channels])

    def _block(self, n: int, history: list[Node], coefficients: Tensor, training: bool) -> BlockTape:
        block, source, states = self.blocks[n], history[0], history
        k, projected = self.kernels[block.plan.target.channels], list[Projected]()
        if block.changes_shape:
            self._drop_low_parts(history)  # what is projected is the high part
        opened = self.open_branch(n, source.state.high, source.kernels, training)
        if block.changes_shape:
            projected = [self._project(node, conv.weight, k) for node, conv in zip(history, self.projections(block))]
            states = [p.node for p in projected]
        used = states[: self._terms[n]]
        for lag, node in enumerate(used):
            node.users.append((n, lag))
        out = State(k.activation(), k.low())
        following = self.norms[self.slopes[n + 1].bn1 if n + 1 < len(self.blocks) else self.bn]
        past = tuple(node.state for node in used)
        f = self.slopes[n]
        packed, table = self.layouts.packed[f.conv2.weight], self.norms[f.bn2].table
        k.conv_step(ConvStep(opened.inner, table, packed, coefficients, past, out, following, training))
        return BlockTape(source, opened, Node(out, k), projected)

    def _project(self, source: Node, weight: nn.Parameter, kernels: Kernels) -> Projected:
        convolution = PointConvolution(source.state.high, self.layouts.matrices[weight], source.kernels)
        return Projected(source, weight, convolution, self._node(convolution.result, kernels))

    def _node(self, high: Tensor, kernels: Kernels) -> Node:
        return Node(State(high, self._zeros[kernels.channels]), kernels)

    # -- backward ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def backward(self, tape: Tape) -> Tensor:
        assert isinstance(tape, MultistepTape)
        slopes, source = torch.zeros_like(tape.coefficients), tape.last
        while tape.blocks:
            n = len(tape.blocks) - 1
            source = self._block_backward(n, tape.blocks.pop(), tape, slopes)
            tape.gradients.pop(n + MAX_STEPS - 1, None)  # no older state needs it
        for kernels in self.kernels.values():
            kernels.join()
        first = source.gradient
        assert first is not None
        if self.weights:
            self.gradients[self.stem].copy_(source.kernels.stem_weight_gradient(tape.images, first))
            if self.is_trained:
                slopes[..., MAX_STEPS] = self._beta_slopes(tape.coefficients.detach()[..., MAX_STEPS])
                parameters = list(self.network.coefficient_parameters())
                for parameter, g in zip(parameters, torch.autograd.grad(tape.coefficients, parameters, slopes)):
                    self.gradients[parameter].copy_(g)
        return first

    def _block_backward(self, n: int, step: BlockTape, tape: MultistepTape, slopes: Tensor) -> Node:
        """Close the state that a block began from, and return it."""
        gradient = step.result.gradient
        assert gradient is not None
        tape.gradients[n] = gradient
        slope = self.branch_gradient(n, step.opened, gradient, tape.coefficients.detach()[n], tape.training)
        for p in step.projected:
            self._close(p.node, None, tape, slopes)
            assert p.node.gradient is not None
            p.source.through = self.project_back(p.convolution, p.weight, p.node.gradient, p.node.kernels)
        self._close(step.source, slope, tape, slopes)
        return step.source

    def _close(self, node: Node, slope: Slope | None, tape: MultistepTape, slopes: Tensor) -> None:
        """Add up the gradient of a state whose readers are done: alpha-weighted gradients, projection, f's slope."""
        terms = tuple(tape.gradients[block] for block, _ in node.users)
        node.gradient = node.kernels.activation()
        state = node.state.high if self.is_trained else None
        weights = self._term_weights(node, tape)
        call = StateGradient(slope, weights, terms, node.gradient, even=node.through, dots_with=state)
        dots = node.kernels.state_gradient(call)
        node.through = None
        if dots is not None:
            for i, (block, lag) in enumerate(node.users):
                slopes[block, :, lag] = dots[:, i]

    def _beta_slopes(self, betas: Tensor) -> Tensor:
        """Compute dL/dbeta, (blocks, K). f is linear in its last weight: dL/dbeta = <G, f> = <dL/dW, W> / beta.

        Call it once the gradients of the weights have been joined: they are added up beside the main work.
        """
        weights = [f.conv2.weight for f in self.slopes]
        rows = [(w * self.gradients[w]).unflatten(0, (self.replicas, -1)).sum((1, 2, 3, 4)) for w in weights]
        return torch.stack(rows) / betas

    def _term_weights(self, node: Node, tape: MultistepTape) -> Tensor:
        """Return the alphas of a state's readers, (K, 4)."""
        key = tuple(node.users)
        if key not in self._weights or self.is_trained:
            numbers = tape.coefficients.detach()
            columns = [numbers[block, :, lag] for block, lag in node.users]
            columns += [torch.zeros_like(numbers[0, :, 0])] * (MAX_STEPS - len(columns))
            self._weights[key] = torch.stack(columns, 1).contiguous()
        return self._weights[key]


def _vector(numbers: tuple[float, ...] | Tensor, like: Tensor) -> Tensor:
    """Make a tensor of one number per replica, on the device and in the type of `like`."""
    return (numbers if isinstance(numbers, Tensor) else torch.tensor(numbers, dtype=torch.float64)).to(like)

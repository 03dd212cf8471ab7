"""A CIFAR-size network with basic blocks through the kernels: forward, and backward by hand.

The network's own parameters and running statistics are used; nothing is copied but the packed weights.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from zerosnet.kernels import patches as px
from zerosnet.kernels.chips import WIDTHS
from zerosnet.kernels.head import BlockTape, Head, Node, Projected, Tape
from zerosnet.kernels.interface import (
    MAX_STEPS,
    BackwardInner,
    BackwardOuter,
    ConvInner,
    ConvStep,
    Kernels,
    Norm,
    NormGradient,
    Slope,
    State,
    StateGradient,
)
from zerosnet.kernels.layouts import KernelWeights
from zerosnet.kernels.patches import PointConvolution, StridedConvolution
from zerosnet.models import Basic, BatchNorm, Block, CifarStem, Conv, Linear, Network


class NativeNetwork:
    """Forward and backward of a network for one batch size.

    `kernels` makes the kernels of a width from (channels, width); a test double serves without a GPU.
    With `weights` False only gradients of images are computed. The gradients of the parameters are written into
    `gradients`, in their order and their layout in memory; None: into tensors of its own.
    """

    def __init__(
        self,
        network: Network,
        kernels: Callable[[int, int], Kernels],
        *,
        weights: bool = True,
        gradients: Sequence[Tensor] | None = None,
    ) -> None:
        self.network, self.replicas = network, network.replicas
        self.kernels = {channels: kernels(channels, width) for channels, width in WIDTHS}
        self.blocks = [cast(Block, block) for block in network.stack.blocks]
        self.slopes = [cast(Basic, block.f) for block in self.blocks]
        self.stem, self.bn = cast(CifarStem, network.stem).conv.weight, cast(BatchNorm, network.bn)
        self.norms = {
            module: Norm(module.weight, module.bias, module.running_mean, module.running_var, self._table(module))
            for module in network.modules()
            if isinstance(module, BatchNorm)
        }
        self.weights = weights
        wanted = list(network.parameters()) if weights else [p for norm in self.norms.values() for p in norm[:2]]
        places = [torch.zeros_like(p) for p in wanted] if gradients is None else gradients
        self.gradients: dict[Tensor, Tensor] = dict(zip(wanted, places, strict=True))
        self.norm_gradients = {
            module: NormGradient(
                norm.table, self.gradients[norm.weight], self.gradients[norm.bias], self._table(module)
            )
            for module, norm in self.norms.items()
        }
        fc = cast(Linear, network.fc)
        of_fc = (self.gradients[fc.weight], self.gradients[fc.bias]) if weights else None
        self.head = Head(fc, self.norm_gradients[self.bn], of_fc)
        self._terms = [len(row.alphas) for row in network.stack.rows(fc.weight)]
        self.is_trained = any(True for _ in network.coefficient_parameters())
        self._fixed = None if self.is_trained else self._coefficients().detach()
        self._layouts = KernelWeights(self.blocks, self.kernels, self.replicas)
        self._weights: dict[tuple[object, ...], Tensor] = {}
        self._zeros = {channels: torch.zeros_like(k.low()) for channels, k in self.kernels.items()}

    def warm_up(self) -> None:
        """Compile what will be needed, so that a machine that cannot is found out before any work is done."""
        for kernels in self.kernels.values():
            kernels.compile()

    def _table(self, module: BatchNorm) -> Tensor:
        return self.kernels[module.channels].table()

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

    @torch.no_grad()
    def refresh(self, *, training: bool) -> None:
        """Take in the parameters and, for evaluation, the running statistics as they are now."""
        self._layouts.refresh(beside=training and self.weights)
        if not training:
            for norm in self.norms.values():
                norm.write_running()

    def forward(self, images: Tensor, *, training: bool, record: bool = True) -> Tape:
        """Compute all states for images (B, K C, 32, 32); in training also the batch statistics, running ones included.

        Parameters are those of the last `refresh`. Without `record` only the last block is kept: enough
        for the logits, at a fraction of the memory.
        """
        coefficients = self._coefficients() if self._fixed is None else self._fixed
        with torch.no_grad():
            k = self.kernels[WIDTHS[0][0]]
            history = [self._node(k.stem(images, self.stem, self.norms[self.slopes[0].bn1], training), k)]
            tape = Tape(coefficients, images, [], training)
            for n in range(len(self.blocks)):
                if not record:
                    tape.blocks.clear()
                tape.blocks.append(self._block(n, history, coefficients.detach()[n], training))
                history = self._history_after(n, tape.blocks[-1], history)
            self._drop_low_parts(history)
        return tape

    def _history_after(self, n: int, step: BlockTape, history: list[Node]) -> list[Node]:
        states = [p.node for p in step.projected] if step.strided else history
        kept = [step.result, *states][: self.blocks[n].plan.keep_states]
        self._drop_low_parts(node for node in states if node not in kept)
        return kept

    def _drop_low_parts(self, nodes: Iterable[Node]) -> None:
        """Free the low parts of states that no multistep sum reads any more."""
        for node in nodes:
            node.state = State(node.state.high, self._zeros[node.kernels.channels])

    def _block(self, n: int, history: list[Node], coefficients: Tensor, training: bool) -> BlockTape:
        block = self.blocks[n]
        plan, f, source, states = block.plan, self.slopes[n], history[0], history
        k = self.kernels[plan.target.channels]
        bn1, bn2 = self.norms[f.bn1], self.norms[f.bn2]
        strided, projected = None, list[Projected]()
        if plan.source == plan.target:
            inner = k.activation()
            packed = self._layouts.packed[f.conv1.weight]
            k.conv_inner(ConvInner(source.state.high, bn1.table, packed, inner, bn2, training))
        else:
            self._drop_low_parts(history)  # what is projected is the high part
            strided = StridedConvolution(source.state.high, bn1.table, source.kernels)
            k.join()  # the weights of this stage were copied beside the last one
            inner = strided.convolve(self._layouts.matrices[f.conv1.weight])
            if training:
                k.statistics(inner, bn2)
            keys = [key for _, key in plan.states if key]
            projections = [cast(Conv, block.projections[key]) for key in keys]
            projected = [self._project(node, conv.weight, k) for node, conv in zip(history, projections)]
            states = [p.node for p in projected]
        used = states[: self._terms[n]]
        for lag, node in enumerate(used):
            node.users.append((n, lag))
        out = State(k.activation(), k.low())
        following = self.norms[self.slopes[n + 1].bn1 if n + 1 < len(self.blocks) else self.bn]
        past = tuple(node.state for node in used)
        packed = self._layouts.packed[f.conv2.weight]
        k.conv_step(ConvStep(inner, bn2.table, packed, coefficients, past, out, following, training))
        return BlockTape(source, inner, Node(out, k), strided, projected)

    def _project(self, source: Node, weight: nn.Parameter, kernels: Kernels) -> Projected:
        convolution = PointConvolution(source.state.high, self._layouts.matrices[weight], source.kernels)
        return Projected(source, weight, convolution, self._node(convolution.result, kernels))

    def _node(self, high: Tensor, kernels: Kernels) -> Node:
        return Node(State(high, self._zeros[kernels.channels]), kernels)

    # -- backward ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def backward(self, tape: Tape) -> Tensor:
        """Go back from the gradient of the last state (see `Head`), and return that of the first.

        The parameters' gradients go into `gradients`. The tape is used up: what a block kept is freed behind it.
        """
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

    @torch.no_grad()
    def image_gradient(self, first: Tensor) -> Tensor:
        """Compute the gradient of the images, (B, K C, H, W), from that of the first state."""
        matrix = px.patch_matrix(self.stem, self.replicas)
        return px.planes(px.fold_patches(px.product(first, matrix.transpose(1, 2)).to(matrix.dtype)))

    def _block_backward(self, n: int, step: BlockTape, tape: Tape, slopes: Tensor) -> Node:
        """Close the state that a block began from, and return it."""
        f, coefficients = self.slopes[n], tape.coefficients.detach()[n]
        source, k = step.source, step.result.kernels
        gradient, weight = step.result.gradient, f.conv2.weight
        assert gradient is not None
        tape.gradients[n] = gradient
        bn1, bn2, dz = self.norm_gradients[f.bn1], self.norm_gradients[f.bn2], k.activation()
        packed, dw = self._layouts.packed[weight], self.gradients[weight] if self.weights else None
        k.backward_inner(BackwardInner(gradient, coefficients, step.inner, packed, dz, bn2, dw, tape.training))
        slope = Slope(dz, step.inner, bn2.table)
        weight = f.conv1.weight
        if step.strided is None:
            dw, dy = self.gradients[weight] if self.weights else None, k.activation()
            packed = self._layouts.packed[weight]
            k.backward_outer(BackwardOuter(slope, source.state.high, packed, dy, bn1, dw, tape.training))
            self._close(source, Slope(dy, source.state.high, bn1.table), tape, slopes)
            return source
        for p in step.projected:
            self._close(p.node, None, tape, slopes)
            assert p.node.gradient is not None
            p.source.through = p.convolution.input_gradient(p.node.gradient)
            if self.weights:
                with k.beside(p.convolution.pixels, p.node.gradient):
                    self.gradients[p.weight].copy_(p.convolution.weight_gradient(p.node.gradient))
        dz = k.norm_backward(slope)
        if self.weights:
            with k.beside(step.strided.patches, dz):
                self.gradients[weight].copy_(step.strided.weight_gradient(dz))
        dy = step.strided.input_gradient(dz, bn1, tape.training)
        self._close(source, Slope(dy, source.state.high, bn1.table), tape, slopes)
        return source

    def _close(self, node: Node, slope: Slope | None, tape: Tape, slopes: Tensor) -> None:
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

    def _term_weights(self, node: Node, tape: Tape) -> Tensor:
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

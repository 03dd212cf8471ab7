"""The right-hand side f, basic or bottleneck, and the block that advances a history by one step with it."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn, relu_
from torch.nn import functional

from zerosnet.models.layers.replicated import BatchNorm, Bias, Coefficient, Conv, one_by_one
from zerosnet.models.stepping.history import BlockCoefficients, BlockPlan, History, accumulate, weighted_sum

HALF = (torch.bfloat16, torch.float16)


def conv_norm_relu(conv: Conv, norm: BatchNorm, x: Tensor) -> Tensor:
    """Compute relu(norm(conv(x))); for several replicas on a GPU, in half precision and without gradients, as

        relu(conv'(x) + shift),  conv' = factor * conv,  norm(z) = factor * z + shift,

    whose weights are rounded to half precision once, as those of conv are, and whose sums are not rounded before the
    norm; only the shift is. It saves a pass over the activations, a tenth of an evaluation. Replicas share no x here.
    """
    if not _only_the_result(conv, norm, x):
        return relu_(norm(conv(x)))
    factor, shift = norm.as_affine()
    weight = (conv.weight * factor.view(-1, 1, 1, 1)).to(conv.dtype)
    return conv_relu(x.to(conv.dtype), weight, shift.to(conv.dtype), conv.replicas)


def _only_the_result(conv: Conv, norm: BatchNorm, x: Tensor) -> bool:
    """Check if convolution, norm and ReLU can run as one cuDNN call here.

    Gradients and hooks need what lies between. Transforms of torch.func and exporters need operators that they know.
    The call has no deterministic mode. It needs x as large as the result (see `conv_relu`), and a convolution that is
    not computed as a product. One network alone gains too little.
    """
    if conv.replicas == 1 or norm.training or torch.is_grad_enabled() or one_by_one(x) or conv.dtype not in HALF:
        return False
    if torch.are_deterministic_algorithms_enabled() or conv.stride > 1 or conv.in_channels != conv.channels:
        return False
    if any(layer._forward_hooks or layer._forward_pre_hooks for layer in (conv, norm)):
        return False
    if torch.compiler.is_compiling():
        understood = torch.compiler.is_dynamo_compiling()  # torch.export works without dynamo, unless it is strict
    else:
        understood = not torch._C._are_functorch_transforms_active()
    return understood and not conv.is_product(x)


@torch.library.custom_op("zerosnet::conv_relu", mutates_args=())
def conv_relu(x: Tensor, weight: Tensor, bias: Tensor, groups: int) -> Tensor:
    """Compute relu(conv(x) + bias), as large as x. An operator of our own: compilers do not know the shapes of cuDNN's.

    cuDNN's also adds alpha * z. torch's form of it without z hands over the result, not written yet, with alpha 0; if
    it is read, 0 times what was left there may be NaN, of which cuDNN's ReLU makes 0. So here z is x. (Of a NaN in
    conv(x) that ReLU makes 0, too.)
    """
    if _cudnn_serves(x):
        same = [weight.shape[-1] // 2] * 2
        try:
            return torch.cudnn_convolution_add_relu(x, weight, x, 0.0, bias, [1, 1], same, [1, 1], groups)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:  # cuDNN has no engine for it
            pass
    return _conv_relu(x, weight, bias, groups)


def _cudnn_serves(x: Tensor) -> bool:
    """Check if cuDNN has the call: not on ROCm, which names it otherwise, nor on chips without bfloat16."""
    if not x.is_cuda or torch.version.hip is not None:
        return False
    serves = torch.backends.cudnn.enabled and torch.backends.cudnn.is_available()
    return serves and torch.cuda.get_device_capability(x.device) >= (8, 0)


@conv_relu.register_fake
def _conv_relu(x: Tensor, weight: Tensor, bias: Tensor, groups: int) -> Tensor:
    return functional.conv2d(x, weight, bias, padding=weight.shape[-1] // 2, groups=groups).relu()


class Residual(nn.Module, ABC):
    """The branch f: BN-ReLU-conv, twice or three times."""

    @property
    @abstractmethod
    def last(self) -> Conv:
        """The convolution whose weight is scaled."""

    @abstractmethod
    def activate(self, y: Tensor) -> Tensor:
        """Apply the first BN-ReLU, which some projections share."""

    @abstractmethod
    def slope(self, activated: Tensor, scale: Coefficient = 1.0) -> Tensor:
        """Compute scale * f(y) from the activated y."""

    def forward(self, y: Tensor) -> Tensor:
        return self.slope(self.activate(y))


class Basic(Residual):
    """f = BN-ReLU-conv3x3-BN-ReLU-conv3x3; the first convolution carries the stride."""

    def __init__(self, in_channels: int, width: int, stride: int, replicas: int) -> None:
        super().__init__()
        self.bn1 = BatchNorm(in_channels, replicas=replicas)
        self.conv1 = Conv(in_channels, width, 3, stride=stride, replicas=replicas)
        self.bn2 = BatchNorm(width, replicas=replicas)
        self.conv2 = Conv(width, width, 3, replicas=replicas)

    @property
    def last(self) -> Conv:
        return self.conv2

    def activate(self, y: Tensor) -> Tensor:
        return relu_(self.bn1(y))

    def slope(self, activated: Tensor, scale: Coefficient = 1.0) -> Tensor:
        return self.conv2(conv_norm_relu(self.conv1, self.bn2, activated), scale)


class Bottleneck(Residual):
    """f = BN-ReLU-conv1x1-BN-ReLU-conv3x3-BN-ReLU-conv1x1, four times wider at its end; the 3x3 carries the stride."""

    def __init__(self, in_channels: int, width: int, stride: int, replicas: int) -> None:
        super().__init__()
        self.bn1 = BatchNorm(in_channels, replicas=replicas)
        self.conv1 = Conv(in_channels, width, 1, replicas=replicas)
        self.bn2 = BatchNorm(width, replicas=replicas)
        self.conv2 = Conv(width, width, 3, stride=stride, replicas=replicas)
        self.bn3 = BatchNorm(width, replicas=replicas)
        self.conv3 = Conv(width, 4 * width, 1, replicas=replicas)

    @property
    def last(self) -> Conv:
        return self.conv3

    def activate(self, y: Tensor) -> Tensor:
        return relu_(self.bn1(y))

    def slope(self, activated: Tensor, scale: Coefficient = 1.0) -> Tensor:
        inner = conv_norm_relu(self.conv1, self.bn2, activated)
        return self.conv3(conv_norm_relu(self.conv2, self.bn3, inner), scale)


class Fixup(Residual):
    """f = bias-ReLU-conv3x3-bias-ReLU-conv3x3, without normalisation, initialised in the manner of Fixup.

    The last convolution starts at 0, so that a deep network starts as its skips. The first one starts smaller by
    1/sqrt(blocks): an update of all blocks then changes the output as much as an update of one block alone would.
    (Zhang, Dauphin, Ma: Fixup Initialization, ICLR 2019; here with a bias per channel, and no multipliers.)
    """

    def __init__(self, in_channels: int, width: int, stride: int, replicas: int) -> None:
        super().__init__()
        self.bias1 = Bias(in_channels, replicas=replicas)
        self.conv1 = Conv(in_channels, width, 3, stride=stride, replicas=replicas)
        self.bias2 = Bias(width, replicas=replicas)
        self.conv2 = Conv(width, width, 3, replicas=replicas)
        self.conv2.gain = 0.0

    def set_depth(self, blocks: int) -> None:
        """Set the factor of the initial weights for a network of so many blocks."""
        self.conv1.gain = blocks**-0.5

    @property
    def last(self) -> Conv:
        return self.conv2

    def activate(self, y: Tensor) -> Tensor:
        return relu_(self.bias1(y))

    def slope(self, activated: Tensor, scale: Coefficient = 1.0) -> Tensor:
        return self.conv2(relu_(self.bias2(self.conv1(activated))), scale)


RESIDUALS: dict[str, Callable[[int, int, int, int], Residual]] = {
    "basic": Basic,
    "bottleneck": Bottleneck,
    "fixup": Fixup,
}


class Opening(nn.Module):
    """BN-ReLU-conv1x1: the skip of a first block that widens the state."""

    def __init__(self, in_channels: int, channels: int, replicas: int) -> None:
        super().__init__()
        self.bn = BatchNorm(in_channels, replicas=replicas)
        self.conv = Conv(in_channels, channels, 1, replicas=replicas)

    def forward(self, y: Tensor) -> Tensor:
        return self.conv(relu_(self.bn(y)))


class Block(nn.Module):
    """One step of the scheme: project the history as planned, sum, and hand the history on."""

    def __init__(self, plan: BlockPlan, kind: str, *, activated_projection: bool, replicas: int) -> None:
        super().__init__()
        self.plan = plan
        self.activated_projection = activated_projection
        self.replicas = replicas
        source, target = plan.source, plan.target
        self.f = RESIDUALS[kind](source.channels, plan.width, target.stride // source.stride, replicas)
        self.projections = nn.ModuleDict(
            {
                key: Conv(shape.channels, target.channels, 1, stride=target.stride // shape.stride, replicas=replicas)
                for key, shape in plan.convolutions.items()
            }
        )
        self.opening = Opening(source.channels, target.channels, replicas) if plan.opening else None

    @property
    def changes_shape(self) -> bool:
        """True if the state enters the sum through a projection."""
        return self.opening is not None or len(self.projections) > 0

    def forward(self, history: History, row: BlockCoefficients) -> History:
        activated = self.f.activate(history.states[0])
        projected = self.project(history, activated)
        if not self.plan.keep_slopes:  # beta goes into the weight of f's last convolution, the sum into its output
            slope = self.slope(activated, projected, row.betas[0])
            y, states = accumulate(slope, row.alphas, projected.states, self.replicas)
            return self.hand_on(history, projected._replace(states=states), slope, y)
        slope = self.slope(activated, projected)
        return self.hand_on(history, projected, slope, self.combine(projected, slope, row))

    def project(self, history: History, activated: Tensor) -> History:
        """Bring each entry of the history that needs it to the shape of y_{n+1}, as it enters the sum.

        Convolutions may compute in a narrower type; what they return goes back to the type of the state.
        """
        y, *older = history.states
        (_, key), *older_plans = self.plan.states
        if self.opening is not None:
            y = self.opening(y).to(y.dtype)
        elif key is not None:
            y = self._project(activated if self.activated_projection else y, key).to(y.dtype)
        states = [self._project(state, key) for state, (_, key) in zip(older, older_plans)]
        slopes = [self._project(slope, key) for slope, (_, key) in zip(history.slopes, self.plan.slopes)]
        return History((y, *states), tuple(slopes))

    def slope(self, activated: Tensor, projected: History, scale: Coefficient = 1.0) -> Tensor:
        """Compute scale * f(y_n) in the type of the state."""
        return self.f.slope(activated, scale).to(projected.states[0].dtype)

    def combine(self, projected: History, slope: Tensor, row: BlockCoefficients) -> Tensor:
        """Compute the multistep sum as a new tensor; its terms stay as they are."""
        slopes = (slope, *projected.slopes)[: len(row.betas)]
        states = projected.states[: len(row.alphas)]
        return weighted_sum((*row.alphas, *row.betas), (*states, *slopes), self.replicas)

    def hand_on(self, history: History, projected: History, slope: Tensor, y: Tensor) -> History:
        """Make the history that the next block receives."""
        plan, states = self.plan, projected.states
        if plan.hands_on_raw:
            states = (history.states[0], *states[1:])
        return History((y, *states)[: plan.keep_states], (slope, *projected.slopes)[: plan.keep_slopes])

    def _project(self, tensor: Tensor, key: str | None) -> Tensor:
        return tensor if key is None else self.projections[key](tensor).to(tensor.dtype)

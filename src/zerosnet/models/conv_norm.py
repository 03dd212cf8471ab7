"""relu(norm(conv(x))), as one kernel of cuDNN where nothing but the result is wanted."""

import torch
from torch import Tensor, relu_
from torch.nn import functional

from zerosnet.models.layers import BatchNorm, Conv, one_by_one

HALF = (torch.bfloat16, torch.float16)


def conv_norm_relu(conv: Conv, norm: BatchNorm, x: Tensor) -> Tensor:
    """relu(norm(conv(x))); in evaluation, without gradients and in half precision, on a GPU, as

        relu(conv'(x) + shift),  conv' = factor * conv,  norm(z) = factor * z + shift,

    whose weights are rounded to half precision once, as those of conv are, and whose sums are not rounded before the
    norm; only the shift is. It saves a pass over the activations, a tenth of an evaluation. Replicas share no x here.
    """
    if not _only_the_result(conv, norm, x):
        return relu_(norm(conv(x)))
    factor, shift = norm.as_affine()
    weight = (conv.weight * factor.view(-1, 1, 1, 1)).to(conv.dtype)
    return conv_relu(x.to(conv.dtype), weight, shift.to(conv.dtype), conv.stride, conv.kernel // 2, conv.replicas)


def _only_the_result(conv: Conv, norm: BatchNorm, x: Tensor) -> bool:
    """Whether nobody wants anything else, and one kernel has it.

    Gradients and hooks want what lies between, torch.func's transforms and exporters operators that they know. A
    strided 1x1 convolution reads every second pixel first, and products are no convolutions.
    """
    if norm.training or torch.is_grad_enabled() or one_by_one(x) or conv.dtype not in HALF:
        return False
    if any(layer._forward_hooks or layer._forward_pre_hooks for layer in (conv, norm)):
        return False
    if torch.compiler.is_compiling():
        understood = torch.compiler.is_dynamo_compiling()  # torch.export works without dynamo, unless it is strict
    else:
        understood = not torch._C._are_functorch_transforms_active()
    return understood and not conv.is_product(x) and (conv.kernel > 1 or conv.stride == 1)


@torch.library.custom_op("zerosnet::conv_relu", mutates_args=())
def conv_relu(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int, groups: int) -> Tensor:
    """relu(conv(x) + bias). An operator of our own: compilers do not know the shapes of cuDNN's."""
    if x.is_cuda:
        sizes = ([stride] * 2, [padding] * 2, [1, 1])
        return torch.cudnn_convolution_relu(x, weight, bias, *sizes, groups)
    return _conv_relu(x, weight, bias, stride, padding, groups)


@conv_relu.register_fake
def _conv_relu(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int, groups: int) -> Tensor:
    return functional.conv2d(x, weight, bias, stride, padding, groups=groups).relu()

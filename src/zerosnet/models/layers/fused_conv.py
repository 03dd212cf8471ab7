"""Compute relu(norm(conv(x))) as one cuDNN kernel if only the result is needed."""

import torch
from torch import Tensor, relu_
from torch.nn import functional

from zerosnet.models.layers.replicated import BatchNorm, Conv, one_by_one

HALF = (torch.bfloat16, torch.float16)


def conv_norm_relu(conv: Conv, norm: BatchNorm, x: Tensor) -> Tensor:
    """relu(norm(conv(x))); of several replicas in evaluation, without gradients and in half precision, on a GPU, as

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

    Gradients and hooks want what lies between, torch.func's transforms and exporters operators that they know, and
    where every bit counts cuDNN must be told so, which this kernel of it cannot. It is there for x as large as the
    result (see `conv_relu`), and products are no convolutions. One network alone gains too little.
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
    """relu(conv(x) + bias), as large as x. An operator of our own: compilers do not know the shapes of cuDNN's.

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

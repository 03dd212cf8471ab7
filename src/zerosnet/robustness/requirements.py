"""Checks of the networks, images, labels and sizes that attacks and noises get, made before any work."""

from typing import Any

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.files import is_number
from zerosnet.robustness.classifiers import frozen, replicas_of, unit_images

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def require_unit_images(images: Tensor) -> None:
    """Raise an error unless images are uint8 or floats of [0, 1], of shape (N, C, H, W)."""
    if not isinstance(images, Tensor):
        raise InputError(f"images are a {type(images).__name__}; expected a tensor, (N, C, H, W)")
    if images.ndim != 4 or not len(images):
        raise InputError(f"images have shape {tuple(images.shape)}; expected (N, C, H, W) with N at least 1")
    if images.dtype == torch.uint8:
        return
    if not images.is_floating_point():
        raise InputError(f"images are {images.dtype}; expected uint8, or floats of [0, 1]")
    low, high = (float(bound) for bound in images.aminmax())
    if not (low >= 0 and high <= 1):
        raise InputError(f"images range over [{low:g}, {high:g}]; expected [0, 1], unnormalised")


def require_logits(model: nn.Module, images: Tensor) -> int:
    """Run the model on one image and return its number of classes; it must return one logits tensor."""
    with frozen(model), torch.no_grad():
        output = model(unit_images(images[:1]))
    replicas = replicas_of(model)
    leading = (1,) if replicas == 1 else (1, replicas)
    if not isinstance(output, Tensor):
        raise InputError(f"the model returns a {type(output).__name__}; expected one logits tensor")
    if output.shape[:-1] != leading or not output.is_floating_point():
        expected = f"{'(B, classes)' if replicas == 1 else f'(B, {replicas}, classes)'}"
        raise InputError(
            f"the model returns {output.dtype} of shape {tuple(output.shape)} for one image; expected logits {expected}"
        )
    return output.shape[-1]


def require_labels(labels: Tensor, count: int, classes: int, replicas: int = 1) -> None:
    """Raise an error unless labels are classes, one per image (count,) or per image and replica (count, replicas)."""
    shapes = {(count,), (count, replicas)} if replicas > 1 else {(count,)}
    kind = labels.dtype if isinstance(labels, Tensor) else None
    if kind not in WHOLE or tuple(labels.shape) not in shapes:
        found = type(labels).__name__ if kind is None else f"{kind} of shape {tuple(labels.shape)}"
        raise InputError(f"labels are {found}; expected whole numbers, one an image: {count}")
    low, high = (int(bound) for bound in labels.aminmax())
    if not 0 <= low <= high < classes:
        raise InputError(f"labels run from {low} to {high}; expected 0 to {classes - 1}")


def require_size(name: str, value: Any, largest: float = 1.0) -> None:
    """Raise an error unless a radius or step is a number from 0 to `largest`."""
    if not (is_number(value) and 0 <= value <= largest):
        expected = "0 to 1, the scale of the images" if largest == 1 else "a finite number from 0 on"
        raise InputError(f"{name} is {value!r}; expected {expected}")

"""Networks as attacks see them: images of [0, 1] in, logits of every replica out, nothing left behind.

Networks, images, labels and sizes are checked before any work.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.files import is_number, is_whole
from zerosnet.kernels import NativeClassifier, reason_against
from zerosnet.models import Network

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class Normalised(nn.Module):
    """A network that takes images of [0, 1]: its normalisation (x - mean) / std is its first layer.

    Perturbations, radii and clipping then mean the same for every network, whatever scaling it was trained with.
    A fused network of K replicas takes (B, C, H, W), the same images for all replicas, or (B, K*C, H, W), images of
    each replica's own.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        if not mean or len(mean) != len(std) or min(std) <= 0:
            raise InputError(f"mean is {tuple(mean)}, std is {tuple(std)}; expected one per channel, std above 0")
        self.model = model
        self.replicas = int(getattr(model, "replicas", 1))
        self.channels = len(mean)
        like = next(model.parameters(), torch.empty(0))
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, like.new_tensor(values).view(1, -1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        copies = images.shape[1] // self.channels
        mean, std = self.mean.repeat(1, copies, 1, 1), self.std.repeat(1, copies, 1, 1)
        return self.model(each_replica((images.to(mean.dtype) - mean) / std, self.replicas // copies))


def each_replica(images: Tensor, replicas: int) -> Tensor:
    """(B, C, H, W) to (B, K*C, H, W): the same image for every replica."""
    return images if replicas == 1 else images.repeat(1, replicas, 1, 1)


def replica_logits(model: nn.Module, images: Tensor) -> Tensor:
    """Logits of shape (B, K, classes), K = 1 for an ordinary network."""
    logits = model(images)
    return logits.unsqueeze(1) if logits.ndim == 2 else logits


def labels_per_replica(labels: Tensor, replicas: int) -> Tensor:
    """Labels as (B, K): shared ones, (B,), are the same for all replicas."""
    return labels[:, None].expand(-1, replicas) if labels.ndim == 1 else labels


def is_right(logits: Tensor, labels: Tensor) -> Tensor:
    """Find which replicas are right, (B, K), by logits (B, K, classes); NaN is wrong."""
    guess = logits.argmax(-1)
    return (guess == labels_per_replica(labels, logits.shape[1])) & ~logits.isnan().any(-1)


def replicas_of(model: nn.Module) -> int:
    return int(getattr(model, "replicas", 1))


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Set evaluation mode and switch gradients of parameters off, for a while; then restore every module."""
    modes = [(module, module.training) for module in model.modules()]
    tracked = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        model.eval()
        for parameter in tracked:
            parameter.requires_grad_(False)
        yield
    finally:
        for module, mode in modes:
            module.training = mode
        for parameter in tracked:
            parameter.requires_grad_(True)


def unit_images(images: Tensor) -> Tensor:
    """Images as floats of [0, 1]; uint8 is divided by 255."""
    return images.float() / 255 if images.dtype == torch.uint8 else images


class FewSizes(nn.Module):
    """A network that is shown batches of three sizes only: `most` images, a half and a quarter of them.

    Smaller batches, an empty one too, are filled up with black images, whose logits are dropped. In its fastest form a
    network is built for every size that it sees, and attacks that leave out what they have fooled would show it
    hundreds.
    """

    def __init__(self, model: nn.Module, most: int) -> None:
        super().__init__()
        self.model, self.replicas = model, replicas_of(model)
        self.sizes = [-(-most // part) for part in (4, 2, 1)]

    def forward(self, images: Tensor) -> Tensor:
        count = len(images)
        size = next((size for size in self.sizes if size >= count), count)
        more = images.new_zeros(size - count, *images.shape[1:])
        logits: Tensor = self.model(torch.cat([images, more]))
        return logits[:count]


def fast(classifier: nn.Module, size: tuple[int, int], *, native: bool = True) -> nn.Module:
    """Make the same function of images (of that `size`) in evaluation mode; it shares the classifier's parameters.

    Gradients with respect to the images come with it; those of the parameters do not. `native` False: not our kernels.
    """
    if not native or why_not_native(classifier, size) is not None:
        return cast(nn.Module, torch.compile(classifier, dynamic=False))
    assert isinstance(classifier, Normalised) and isinstance(classifier.model, Network)
    statistics = (values.flatten().tolist() for values in (classifier.mean, classifier.std))
    return Normalised(NativeClassifier(classifier.model), *statistics)


def why_not_native(classifier: nn.Module, size: tuple[int, int]) -> str | None:
    """Give the reason why our own kernels do not serve a classifier of images of that size; None if they do."""
    network = classifier.model if isinstance(classifier, Normalised) else None
    if not isinstance(network, Network):
        return "it is not a network of this package"
    return reason_against(network, size, network.conv_dtype, next(network.parameters()).device)


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
        raise InputError(f"labels are {found}; expected whole numbers, one per image: {count}")
    low, high = (int(bound) for bound in labels.aminmax())
    if not 0 <= low <= high < classes:
        raise InputError(f"labels run from {low} to {high}; expected 0 to {classes - 1}")


def require_index(index: Tensor, count: int) -> None:
    """Raise an error unless an index has the place of every image in its data set, (count,)."""
    if not isinstance(index, Tensor) or index.dtype not in WHOLE or index.shape != (count,):
        found = f"{index.dtype} of shape {tuple(index.shape)}" if isinstance(index, Tensor) else type(index).__name__
        raise InputError(f"index is {found}; expected a tensor of whole numbers, one place per image: {count}")


def require_count(name: str, value: Any) -> None:
    """Raise an error unless a value is a whole number, at least 1."""
    if not (is_whole(value) and value >= 1):
        raise InputError(f"{name} is {value!r}; expected a whole number, at least 1")


def require_seed(seed: Any) -> None:
    """Raise an error unless a seed is a whole number that 64 bits hold."""
    if not (is_whole(seed) and 0 <= seed < 1 << 63):
        raise InputError(f"seed is {seed!r}; expected a whole number from 0 on, below 2^63")


def require_size(name: str, value: Any, largest: float = 1.0) -> None:
    """Raise an error unless a radius or step is a number from 0 to `largest`."""
    if not (is_number(value) and 0 <= value <= largest):
        expected = "0 to 1, the scale of the images" if largest == 1 else "a finite number from 0 on"
        raise InputError(f"{name} is {value!r}; expected {expected}")

"""What every measure of a network begins with: checks of its arguments, and a copy to work on."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models.layers.replicated import BatchNorm
from zerosnet.models.network import Network

STATISTICS = ("running", "batch")


def require_single(model: Any) -> Network:
    """Return the model if it is one network of this package; raise an `InputError` otherwise."""
    if isinstance(model, Network) and model.replicas == 1:
        return model
    found = f"a network of {model.replicas} replicas" if isinstance(model, Network) else type(model).__name__
    raise InputError(f"model is {found}; expected a single network (`extract` cuts one out)")


def choose_statistics(model: Network, statistics: str | None) -> str:
    """Return "running" or "batch": what was asked for, or by default "batch" for networks that were never trained."""
    if statistics not in (None, *STATISTICS):
        raise InputError(f"statistics is {statistics!r}; expected {' or '.join(STATISTICS)}")
    return statistics or ("running" if _was_trained(model) else "batch")


def network_name(model: Network) -> str:
    structure = model.config.structure
    return model.config.name or f"{structure.size} network of {structure.depth} layers"


def stage_of_blocks(model: Network) -> list[int]:
    """List the stage of every block, from 0."""
    widths = model.config.structure.traits.widths
    return [widths.index(block.plan.width) for block in model.stack.steps]


def require_batch(images: Tensor, labels: Tensor | None, classes: int) -> None:
    """Raise an error unless images are a batch and labels, if given, are one class per image."""
    for name, value in (("images", images), ("labels", labels)):
        if value is not None and not isinstance(value, Tensor):
            raise InputError(f"{name} are a {type(value).__name__}; expected a tensor")
    if not images.numel():
        raise InputError(f"images have shape {tuple(images.shape)}; expected at least one")
    if labels is None:
        return
    if labels.shape != images.shape[:1] or labels.is_floating_point() or labels.dtype == torch.bool:
        raise InputError(
            f"labels are {labels.dtype} of shape {tuple(labels.shape)}; expected one class for each of "
            f"{len(images)} images"
        )
    if not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise InputError(f"labels reach from {labels.min()} to {labels.max()}; expected 0 to {classes - 1}")


def working_copy(model: Network, statistics: str) -> Network:
    """Copy a network for measurements: no gradients of weights, no reduced precision, the mode of the statistics."""
    network = copy.deepcopy(model).requires_grad_(False).train(statistics == "batch")
    network.conv_dtype = None
    return network


def _was_trained(model: nn.Module) -> bool:
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    return any(norm.running_mean.any() or (norm.running_var != 1).any() for norm in norms)

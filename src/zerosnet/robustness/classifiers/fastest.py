"""The fastest form of a classifier on its device: our own kernels if they serve it, else torch.compile on CUDA."""

from typing import cast

import torch
from torch import nn

from zerosnet.kernels import NativeClassifier, reason_against
from zerosnet.models import Network
from zerosnet.robustness.classifiers.normalised import Normalised


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

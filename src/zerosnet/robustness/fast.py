"""The fastest form of a classifier on its device: our own kernels where they serve, torch.compile elsewhere on CUDA."""

from typing import cast

import torch
from torch import nn

from zerosnet.kernels import NativeClassifier, reason_against
from zerosnet.models import Network
from zerosnet.robustness.normalised import Normalised


def fast(classifier: nn.Module, size: tuple[int, int], *, native: bool = True) -> nn.Module:
    """The same function of images (of that `size`) in evaluation mode, sharing the classifier's parameters.

    Gradients with respect to the images come with it; those of the parameters do not. `native` False: not our kernels.
    """
    network = classifier.model if isinstance(classifier, Normalised) else None
    if native and isinstance(network, Network):
        device = next(network.parameters()).device
        if reason_against(network, size, network.conv_dtype, device) is None:
            assert isinstance(classifier, Normalised)
            statistics = (values.flatten().tolist() for values in (classifier.mean, classifier.std))
            return Normalised(NativeClassifier(network), *statistics)
    return cast(nn.Module, torch.compile(classifier, dynamic=False))

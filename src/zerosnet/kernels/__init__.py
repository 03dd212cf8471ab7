"""CUDA kernels for the training step of the CIFAR-size networks. Nothing here is compiled where there is no device."""

from zerosnet.kernels.classifier import NativeClassifier
from zerosnet.kernels.compile import KernelsUnavailable
from zerosnet.kernels.step import NativePredictor, NativeStep
from zerosnet.kernels.support import (
    CHIPS,
    reason_against,
    reason_against_compiler,
    reason_against_device,
    reason_against_network,
)

__all__ = [
    "CHIPS",
    "KernelsUnavailable",
    "NativeClassifier",
    "NativePredictor",
    "NativeStep",
    "reason_against",
    "reason_against_compiler",
    "reason_against_device",
    "reason_against_network",
]

"""Networks built from a scheme: layers, the multistep stack, CIFAR- and ImageNet-size families by name."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

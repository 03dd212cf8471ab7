"""Data sets as uint8 arrays, and batches made from them on the device."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

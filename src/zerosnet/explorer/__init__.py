"""The explorer: a local web page on which to see zero stability, and the JSON interface that it draws from."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

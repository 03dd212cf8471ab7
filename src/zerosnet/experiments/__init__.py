"""The paper as data: what to run, what it printed, what we measured, and what both say about its claims."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

"""Training: recipes, runs and their store, checkpoints, and the engine that trains many networks as one."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

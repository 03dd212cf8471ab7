"""Robustness: noises, attacks and protocols, as functions of a network and images.

Images are in [0, 1] everywhere; a network's normalisation is inside it (`Normalised`). Nothing here knows of runs.
"""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

"""Schemes as exact values: root condition, order, families, design, regions, growth. No torch here."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)

"""Schemes as exact values: root condition, order, families, design, regions, growth. No torch here."""

from zerosnet.numerics.number import Number
from zerosnet.numerics.scheme import Scheme

__all__ = ["Number", "Scheme"]

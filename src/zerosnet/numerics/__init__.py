"""Schemes as exact values: root condition, order, families, design, regions, growth. No torch here."""

from zerosnet.numerics.analysis import Analysis, analyze
from zerosnet.numerics.families import FAMILIES, Family, family, parse_member
from zerosnet.numerics.members import adams_bashforth, euler, from_roots, leapfrog, lm, momentum, zerosnet
from zerosnet.numerics.number import Number
from zerosnet.numerics.order import (
    consistency_residuals,
    error_constant,
    is_consistent,
    normalised_error_constant,
    order,
)
from zerosnet.numerics.paper import PAPER_ROWS, PaperRow
from zerosnet.numerics.parameter_set import Interval, ParameterSet
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability import Verdict, is_zero_stable, root_condition

__all__ = [
    "Analysis",
    "FAMILIES",
    "Family",
    "Interval",
    "Number",
    "PAPER_ROWS",
    "PaperRow",
    "ParameterSet",
    "Scheme",
    "Verdict",
    "adams_bashforth",
    "analyze",
    "consistency_residuals",
    "error_constant",
    "euler",
    "family",
    "from_roots",
    "is_consistent",
    "is_zero_stable",
    "leapfrog",
    "lm",
    "momentum",
    "normalised_error_constant",
    "order",
    "parse_member",
    "root_condition",
    "zerosnet",
]

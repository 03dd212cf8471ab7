"""Schemes as exact values: root condition, order, families, design, regions, growth. No torch here."""

from zerosnet.numerics.absolute import boundary_locus, root_radius, stability_region
from zerosnet.numerics.analysis import Analysis, analyze
from zerosnet.numerics.axis_intervals import imaginary_interval, real_interval
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
    "boundary_locus",
    "consistency_residuals",
    "error_constant",
    "euler",
    "family",
    "from_roots",
    "imaginary_interval",
    "is_consistent",
    "is_zero_stable",
    "leapfrog",
    "lm",
    "momentum",
    "normalised_error_constant",
    "order",
    "parse_member",
    "real_interval",
    "root_condition",
    "root_radius",
    "stability_region",
    "zerosnet",
]

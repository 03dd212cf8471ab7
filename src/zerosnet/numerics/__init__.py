"""Schemes as exact values: root condition, order, families, design, regions, growth. No torch here."""

from zerosnet.numerics.absolute import boundary_locus, root_radius, stability_region
from zerosnet.numerics.analysis import Analysis, analyze, facts
from zerosnet.numerics.axis_intervals import imaginary_interval, real_interval
from zerosnet.numerics.batch import KINDS, classify
from zerosnet.numerics.design import Design, design, design_table
from zerosnet.numerics.families import FAMILIES, Family, family, parse_member
from zerosnet.numerics.growth import (
    Growth,
    companion,
    envelope,
    growth,
    log10_envelope,
    log10_power_norms,
    power_norms,
)
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
from zerosnet.numerics.paths import parasitic_roots
from zerosnet.numerics.problems import PROBLEMS, Problem
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability import Verdict, is_zero_stable, root_condition
from zerosnet.numerics.stable_set import solve_stable_set
from zerosnet.numerics.stepper import Trajectory, integrate, largest_error, observed_order

__all__ = [
    "Analysis",
    "Design",
    "FAMILIES",
    "Family",
    "Growth",
    "Interval",
    "KINDS",
    "Number",
    "PAPER_ROWS",
    "PROBLEMS",
    "PaperRow",
    "ParameterSet",
    "Problem",
    "Scheme",
    "Trajectory",
    "Verdict",
    "adams_bashforth",
    "analyze",
    "boundary_locus",
    "classify",
    "companion",
    "consistency_residuals",
    "design",
    "design_table",
    "envelope",
    "error_constant",
    "euler",
    "facts",
    "family",
    "from_roots",
    "growth",
    "imaginary_interval",
    "integrate",
    "is_consistent",
    "is_zero_stable",
    "largest_error",
    "leapfrog",
    "lm",
    "log10_envelope",
    "log10_power_norms",
    "momentum",
    "normalised_error_constant",
    "observed_order",
    "order",
    "parasitic_roots",
    "parse_member",
    "power_norms",
    "real_interval",
    "root_condition",
    "root_radius",
    "solve_stable_set",
    "stability_region",
    "zerosnet",
]

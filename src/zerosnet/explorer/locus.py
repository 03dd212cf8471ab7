"""Root loci: where the parasitic roots go as one number of a scheme moves, and for which of its values it is
zero-stable. For the families with one real parameter that set is exact; elsewhere it is sampled, and marked as such.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.explorer.limits import MOST_STEPS, BadParameter
from zerosnet.explorer.query import Locus
from zerosnet.numerics import FAMILIES, Family, Scheme, classify, parasitic_roots
from zerosnet.numerics import family as family_named

_STABLE = {1: "stable", 2: "borderline"}  # the codes of `classify`
_LARGEST = 1e6  # roots beyond are not drawn


def locus_document(query: Locus) -> dict[str, Any]:
    """Moduli and roots [parameter][root] by falling modulus, and the zero-stable set of parameters."""
    query.scheme()  # complains about what is named wrongly
    family = None if query.family is None else family_named(query.family)
    if family is not None and query.vary == "param" and family.alphas is None:
        return _points(family)
    build = _line(query, family)
    values, alphas = _along(build, *query.range(), query.points)
    roots = parasitic_roots(alphas)
    exact = family is not None and query.vary == "param" and len(query.parameters()) <= 1
    return {
        "parameter": (family.parameter if family and query.vary == "param" else query.vary),
        "values": values,
        "roots": [[[z.real, z.imag] if abs(z) < _LARGEST else None for z in row] for row in roots.tolist()],
        "moduli": [[abs(z) if abs(z) < _LARGEST else None for z in row] for row in roots.tolist()],
        "stable_set": stable_set(family.name) if exact and family else _sampled(values, alphas),
        "discrete": False,
    }


@lru_cache(maxsize=len(FAMILIES))
def stable_set(name: str) -> dict[str, Any]:
    """A family's exact set, with ends as floats for drawing beside the exact ones."""
    found = family_named(name).stable_set()
    intervals = [
        {**interval.to_json(), "from": _float(interval.low), "to": _float(interval.high), "kind": "stable"}
        for interval in found.intervals
    ]
    return {"text": str(found), "exact": True, "intervals": intervals}


def families_document() -> list[dict[str, Any]]:
    """Every family: its parameter, its formula, and which parameters are zero-stable."""
    return [
        {
            "name": family.name,
            "parameter": family.parameter or None,
            "symbol": family.symbol or None,
            "description": family.description,
            "latex": family.formula,
            "usage": family.usage,
            "whole": family.alphas is None and bool(family.parameter),
            "domain": str(family.domain),
            "holes": _holes(family),
            "stable_set": stable_set(family.name),
        }
        for family in FAMILIES.values()
    ]


def _holes(family: Family) -> list[float]:
    """The real parameters that have no member."""
    ends = [interval.high for interval in family.domain.intervals] if family.alphas is not None else []
    return [float(end) for end in ends if end is not None]


def _points(family: Family) -> dict[str, Any]:
    """A family without a real parameter: one entry a member."""
    whole = [int(interval.low) for interval in family.domain.intervals] if family.parameter else []
    members = [family.member(k) for k in whole] or [family.member()]
    roots = [_parasitic(scheme) for scheme in members]
    return {
        "parameter": family.parameter or None,
        "values": [float(k) for k in whole] or [0.0],
        "roots": [[[z.real, z.imag] for z in row] for row in roots],
        "moduli": [[abs(z) for z in row] for row in roots],
        "stable_set": stable_set(family.name),
        "discrete": True,
    }


def _parasitic(scheme: Scheme) -> list[complex]:
    """All roots but the principal one, those at 0 of older slopes included."""
    alphas = [float(a) for a in scheme.alphas]
    return parasitic_roots(np.array([alphas + [0.0] * (scheme.steps - len(alphas))]))[0].tolist()


def _line(query: Locus, family: Family | None) -> Callable[[float], Scheme]:
    """The scheme as a function of the number that moves; all else stays as it was named."""
    kind, at = (query.vary, 0) if query.vary == "param" else (query.vary[:-1], int(query.vary[-1]))
    if family is not None and kind in ("param", "root"):
        given: list[Any] = list(query.parameters())
        if kind == "root" and (family.name != "from-roots" or at >= len(given)):
            raise BadParameter("vary", f"vary is {query.vary}; expected a root that param names")
        before, after, options = given[:at], given[at + 1 :], {} if query.beta is None else {"beta": query.beta}
        return lambda x: family.member(*before, x, *after, **options)
    scheme = query.scheme()
    groups = {"alpha": list(scheme.alphas), "beta": list(scheme.betas)}
    if kind not in groups or at >= min(len(groups[kind]), MOST_STEPS):
        raise BadParameter("vary", f"vary is {query.vary}; expected a coefficient that the scheme has")

    def moved(x: float) -> Scheme:
        changed = {name: list(group) for name, group in groups.items()}
        changed[kind][at] = x
        return Scheme(changed["alpha"], changed["beta"])

    return moved


def _along(build: Callable[[float], Scheme], low: float, high: float, points: int) -> tuple[list[float], np.ndarray]:
    """The parameters that have a member, and the members' alphas as one array."""
    values, alphas = [], []
    for x in np.linspace(low, high, points).tolist():
        try:
            alphas.append([float(a) for a in build(x).alphas])
        except InputError:  # a hole in the domain, such as lambda = 0
            continue
        values.append(x)
    return values, np.array(alphas)


def _sampled(values: list[float], alphas: np.ndarray) -> dict[str, Any]:
    """Runs of equal verdicts among the values. Floats: a root on the circle is borderline."""
    codes = classify(alphas).tolist()
    intervals = []
    for code, run in groupby(zip(codes, values), key=lambda pair: pair[0]):
        inside = [value for _, value in run]
        if code in _STABLE:
            intervals.append({"from": inside[0], "to": inside[-1], "kind": _STABLE[code]})
    return {"text": f"sampled at {len(values)} values", "exact": False, "intervals": intervals}


def _float(end: Any) -> float | None:
    return None if end is None else float(Fraction(end) if isinstance(end, int | Fraction) else end)

"""Sentences about networks that were trained after their prediction: the numbers that pages name."""

from collections.abc import Callable
from functools import partial

from tools.later_tables import Network, error, largest, later, misses, rms, tested

SENTENCES = {
    "growing betas": "1,1,1;1 (beta growth 1.841)",
    "shrinking betas": "≈0.543,0.295,0.16;0.543 (beta growth 0.5432)",
    "growing initial weights": "1,1,1;1, 56 layers, initial weights",
    "small beta": "1/3,5/9,1/9;2173/100000",
    "beta 0.045": "1/3,5/9,1/9;4539/100000",
}
"""Networks that the pages speak of, by how their names begin."""


_PREDICTED = {
    "growing betas": "with floor",
    "shrinking betas": "with floor",
    "small beta": "with floor",
    "beta 0.045": "threshold",
}
PAIRS = (("1/3,5/9,1/9;4539/100000", "from-roots(-6/5, 0)"), ("1/3,5/9,1/9;4791/50000", "from-roots(-11/10, 0)"))
"""A zero-stable scheme and another of equal depth by the first law of parts."""


def _find(beginning: str) -> Network:
    (found,) = (one for ones in later().values() for one in ones if one.name.startswith(beginning))
    return found


def _measured(beginning: str) -> float:
    return _find(beginning).measured


def _value(name: str, what: str) -> str:
    """Write what was measured for a network of SENTENCES, or what a law predicted for it."""
    found = _find(SENTENCES[name])
    return f"{found.measured if what == 'measured' else found.predicted['predicted_accuracy'][what]:.1f}"


def _group_error(file: str, law: str) -> str:
    """Write the error of a law on the networks of a group."""
    return f"{rms(misses(later()[file], law)):.2f}"


def _tested_error(law: str) -> str:
    return error(tested(), law, by_newest=True)


def _too_low() -> str:
    return f"{sum(one.newest['threshold'] < one.measured for one in tested())} of {len(tested())}"


VALUES: dict[str, Callable[[], str]] = {
    "law, tested networks": lambda: str(len(tested())),
    "law, tested error": partial(_tested_error, "threshold"),
    "law, tested error by roots": partial(_tested_error, "root_condition"),
    "law, tested error by a constant": partial(_tested_error, "constant"),
    "law, tested error by counting": partial(_tested_error, "count"),
    "law, tested error by shares": partial(_tested_error, "shares"),
    "law, tested error by the first parts": partial(_tested_error, "with floor"),
    "law, largest tested miss": lambda: largest(tested()).lstrip("+-"),
    "law, tested too low": _too_low,
    "law, tested inside": lambda: f"{sum(bool(one.inside) for one in tested())} of {len(tested())}",
    **{f"{name}, measured": partial(_value, name, "measured") for name in SENTENCES},
    **{f"{name}, predicted": partial(_value, name, law) for name, law in _PREDICTED.items()},
    "pairs, differences": lambda: " and ".join(f"{_measured(a) - _measured(b):.1f}" for a, b in PAIRS),
    **{f"{name}, by roots": partial(_value, name, "root_condition") for name in SENTENCES if "betas" in name},
    "betas per block, error": partial(_group_error, "block-schemes", "with floor"),
    "betas per block, error by roots": partial(_group_error, "block-schemes", "root_condition"),
}

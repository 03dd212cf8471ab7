"""Sentences about networks that were trained after their prediction: the numbers that pages name."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from tools.later_tables import LAWS, PLAIN, Network, by_package, error, later, misses, rms, tested
from tools.markdown_tables import span
from zerosnet.numerics import load_law

SENTENCES = {
    "growing betas": "1,1,1;1 (beta growth 1.841)",
    "shrinking betas": "≈0.543,0.295,0.16;0.543 (beta growth 0.5432)",
    "growing initial weights": "1,1,1;1, 56 layers, initial weights",
    "small beta": "1/3,5/9,1/9;2173/100000",
}
"""Networks that the pages speak of, by how their names begin."""


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
    return f"{found.measured if what == 'measured' else found.predicted[PLAIN][what]:.1f}"


def _group_error(file: str, law: str) -> str:
    """Write the error of a law on the networks of a group."""
    return f"{rms(misses(later()[file], law)):.2f}"


def _other_errors(file: str) -> str:
    """Write the range of the errors of all laws but the law of parts on the networks of a group."""
    return span([rms(misses(later()[file], law)) for law in LAWS if law != "parts"], 1)


def _by_package(file: str) -> list[Network]:
    """List the networks of a group that the law in the package predicted."""
    return [one for one in later()[file] if one.by_package]


def _package_error(file: str, law: str) -> str:
    """Write the error of a law on the networks of a group that the law in the package predicted."""
    return error(_by_package(file), law)


def _from_56() -> list[float]:
    """List how far networks of 44 layers are from those of 56 layers with the same scheme."""
    usual = [one for one in load_law().networks if not one.block_schemes and Fraction(one.beta_growth) == 1]
    shallow, deep = (
        {(one.scheme, one.stage_change): one.accuracy for one in usual if 2 * sum(one.blocks) + 2 == layers}
        for layers in (44, 56)
    )
    return [deep[key] - accuracy for key, accuracy in shallow.items() if key in deep]


def _inside(found: Sequence[Network]) -> str:
    """Write how many networks were in the interval that was predicted for them."""
    return f"{sum(bool(one.inside) for one in found)} of {len(found)}"


VALUES: dict[str, Callable[[], str]] = {
    "law, tested networks": lambda: str(len(tested())),
    "law, tested error": lambda: error(tested(), "parts"),
    "law, tested error by roots": lambda: error(tested(), "root_condition"),
    "law, tested inside": lambda: _inside(tested()),
    "law in the package, tested networks": lambda: str(len(by_package())),
    "at the threshold, error": partial(_package_error, "threshold-betas", "parts"),
    "at the threshold, error by roots": partial(_package_error, "threshold-betas", "root_condition"),
    "at the threshold, error by shares": partial(_package_error, "threshold-betas", "shares"),
    "at the threshold, inside": lambda: _inside(_by_package("threshold-betas")),
    "44 layers, error": partial(_package_error, "ten-rows", "parts"),
    "44 layers, error by roots": partial(_package_error, "ten-rows", "root_condition"),
    "44 layers, largest miss": lambda: f"{max(abs(miss) for miss in misses(_by_package('ten-rows'), 'parts')):.1f}",
    "44 layers, error by 56": lambda: f"{rms(_from_56()):.2f}",
    "44 layers, inside": lambda: _inside(_by_package("ten-rows")),
    **{f"{name}, measured": partial(_value, name, "measured") for name in SENTENCES},
    **{f"{name}, predicted": partial(_value, name, "parts") for name in SENTENCES if "beta" in name},
    "pairs, differences": lambda: " and ".join(f"{_measured(a) - _measured(b):.1f}" for a, b in PAIRS),
    **{f"{name}, by roots": partial(_value, name, "root_condition") for name in SENTENCES if "betas" in name},
    "betas per block, error": partial(_group_error, "block-schemes", "parts"),
    "betas per block, error by roots": partial(_group_error, "block-schemes", "root_condition"),
    "small betas, error": partial(_group_error, "small-betas", "parts"),
    "small betas, other errors": lambda: span(
        [rms(misses(later()["small-betas"], law)) for law in LAWS if law != "parts"], 1
    ),
    "ten rows, error": partial(_group_error, "ten-rows", "parts"),
    "ten rows, error by roots": partial(_group_error, "ten-rows", "root_condition"),
}

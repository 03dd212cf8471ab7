"""Sentences about networks that were trained after their prediction: the numbers that pages name."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from tools.later_tables import (
    LAWS,
    PLAIN,
    RESULTS,
    Network,
    by_package,
    error,
    later,
    learned,
    misses,
    predictions_of,
    rms,
    tested,
)
from tools.markdown_tables import listed, span
from zerosnet.files import read_json
from zerosnet.numerics import load_law

SENTENCES = {
    "growing betas": "1,1,1;1 (beta growth 1.841), 56 layers",
    "shrinking betas": "≈0.543,0.295,0.16;0.543 (beta growth 0.5432), 56 layers",
    "growing initial weights": "1,1,1;1, 56 layers, initial weights times 1.841^n",
    "small beta": "1/3,5/9,1/9;2173/100000, 56 layers",
    "restart that does not learn": "zerosnet(-1/5) (restart), 56 layers",
}
"""Networks that the pages name."""

PAIRS = (
    ("1/3,5/9,1/9;4539/100000, 56 layers", "from-roots(-6/5, 0), 56 layers"),
    ("1/3,5/9,1/9;4791/50000, 56 layers", "from-roots(-11/10, 0), 56 layers"),
)
"""A zero-stable scheme and another of equal depth by the first law of parts."""


RESTARTS = ("1,1,1;1", "zerosnet(1/2)", "zerosnet(-9/5)")
"""Schemes that learn if they restart at stage changes."""

NO_DECAY, MORE_DECAY = ", weight_decay 0.0", ", weight_decay 0.0005"


def _find(name: str) -> Network:
    (found,) = (one for ones in later().values() for one in ones if one.name == name)
    return found


def _measured(name: str) -> float:
    return _find(name).measured


def _restarts(what: str) -> str:
    """Write the accuracies of the schemes of RESTARTS: what a law predicted, or what was measured."""
    found = [_find(f"{scheme} (restart), 56 layers") for scheme in RESTARTS]
    return listed([one.measured if what == "measured" else one.predicted[PLAIN][what] for one in found])


def _decay(suffix: str) -> tuple[list[float], list[float]]:
    """Give the accuracies of networks with a changed weight decay, and of the same networks without this change."""
    names = [one.name for one in later()["decay"] if one.name.endswith(suffix)]
    return [_measured(name) for name in names], [_measured(name.removesuffix(suffix)) for name in names]


def _value(name: str, what: str) -> str:
    """Write what was measured for a network of SENTENCES, or what a law predicted for it."""
    found = _find(SENTENCES[name])
    return f"{found.measured if what == 'measured' else found.predicted[PLAIN][what]:.1f}"


def _group_error(file: str, law: str) -> str:
    """Write the error of a law on the networks of a group."""
    return f"{rms(misses(later()[file], law)):.2f}"


def _first_error(file: str, law: str) -> str:
    """Write the error of a law as the file of a group registered it, whatever newer files predict; run by run."""
    entries = {run: entry.given[PLAIN][law] for run, entry in predictions_of(file).items()}
    results = {run: RESULTS / "runs" / run / "result.json" for run in entries}
    measured = {run: 100 * read_json(path)["best_test_accuracy"] for run, path in results.items() if path.exists()}
    return f"{rms([entries[run] - accuracy for run, accuracy in measured.items()]):.2f}"


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
    "law, learned networks": lambda: str(len(learned())),
    "law, learned error": lambda: error(learned(), "parts"),
    "law, learned error by roots": lambda: error(learned(), "root_condition"),
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
    **{f"{name}, predicted": partial(_value, name, "parts") for name in SENTENCES if "weights" not in name},
    "pairs, differences": lambda: " and ".join(f"{_measured(a) - _measured(b):.1f}" for a, b in PAIRS),
    **{f"{name}, by roots": partial(_value, name, "root_condition") for name in SENTENCES if "betas" in name},
    "restarts, predicted": partial(_restarts, "parts"),
    "restarts, measured": partial(_restarts, "measured"),
    "no decay, measured": lambda: listed(_decay(NO_DECAY)[0]),
    "more decay, measured": lambda: listed(_decay(MORE_DECAY)[0]),
    "more decay, before": lambda: listed(_decay(MORE_DECAY)[1]),
    "decay, error": partial(_group_error, "decay", "parts"),
    "alpha and k, error": partial(_group_error, "alpha-and-k", "parts"),
    "alpha and k, error by weights": partial(_group_error, "alpha-and-k", "contributions"),
    "alpha and k, error by roots": partial(_group_error, "alpha-and-k", "root_condition"),
    "small betas, error": partial(_group_error, "small-betas", "parts"),
    "small betas, other errors": partial(_other_errors, "small-betas"),
    "ten rows, error": partial(_group_error, "ten-rows", "parts"),
    "ten rows, error by roots": partial(_group_error, "ten-rows", "root_condition"),
    "ten rows, first error by roots": partial(_first_error, "ten-rows", "root_condition"),
}

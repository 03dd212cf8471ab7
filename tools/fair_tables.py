"""Tables and numbers of fair comparisons: truncated twins, corruption beside depth, tests of equivalence."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from math import ceil, log
from statistics import mean

from tools.defence_tables import StoppedEarly, stopped
from tools.fit_law import read_groups
from tools.markdown_tables import span, table
from tools.robustness_tables import GAUSSIAN, corrupted, networks, pairs
from tools.run_tables import evidence
from zerosnet.experiments import (
    CLEAN,
    DEPTH,
    NOISES,
    ROOTS,
    CorruptedNetwork,
    Difference,
    MatchedDifference,
    NoisyNetwork,
    Regression,
    matched_difference,
    pooled_difference,
    regress,
    rounded_name,
)
from zerosnet.numerics import load_law

NEAREST = 1.0
"""Points of clean accuracy by which a truncated network and its partner differ at most."""
BLOCKS = (9, 9, 9)
TRUNCATED = "f switched off after "
EULER = "1;1"
Twin = tuple[NoisyNetwork, NoisyNetwork]


def is_truncated(network: NoisyNetwork) -> bool:
    return TRUNCATED in network.name


def is_partner(network: NoisyNetwork) -> bool:
    """Check if a network has 56 layers and one scheme that is not zero-stable, from the first block to the last."""
    return not network.zero_stable and network.name == network.scheme


def twins(every: Sequence[NoisyNetwork]) -> list[Twin]:
    """Pair truncated networks with the partner of the nearest clean accuracy, if there is one within a point."""
    partners, found = [one for one in every if is_partner(one)], []
    for one in filter(is_truncated, every):
        nearest = min(partners, key=lambda other: abs(other.clean - one.clean))
        if abs(nearest.clean - one.clean) <= NEAREST:
            found.append((one, nearest))
    return found


def twin_difference(found: Sequence[Twin], noise: str) -> MatchedDifference:
    """Average the accuracy of networks that are not zero-stable, less that of their truncated twins."""
    return _known(matched_difference([other.noisy[noise] - one.noisy[noise] for one, other in found]))


def peers_difference(every: Sequence[NoisyNetwork], noise: str) -> MatchedDifference:
    """Average the same with the mean of all partners within a point in place of the nearest."""
    differences = []
    for one in filter(is_truncated, every):
        peers = [o.noisy[noise] for o in every if is_partner(o) and abs(o.clean - one.clean) <= NEAREST]
        differences += [mean(peers) - one.noisy[noise]] if peers else []
    return _known(matched_difference(differences))


def truncated_twins() -> str:
    """List truncated networks beside unstable ones that are as good, and the differences under every noise."""
    found, rows = twins(networks()), []
    for one, other in found:
        blocks = one.name.split(TRUNCATED)[1].split(" ")[0]
        both = [f"{value:.1f}" for value in (one.clean, one.noisy[GAUSSIAN], other.clean, other.noisy[GAUSSIAN])]
        differences = [f"{other.noisy[noise] - one.noisy[noise]:+.1f}" for noise in NOISES]
        rows.append([blocks, *both[:2], f"`{rounded_name(other.name)}`", *both[2:], *differences])
    means = [str(twin_difference(found, noise)) for noise in NOISES]
    rows.append(["**mean, 95 % interval**", *[""] * 5, *means])
    heads = ["f off after", "clean", GAUSSIAN, "Not zero-stable", "clean", GAUSSIAN]
    return table([*heads, *(f"Difference, {noise}" for noise in NOISES)], rows)


def stopped_beside(every: Sequence[NoisyNetwork]) -> list[tuple[StoppedEarly, NoisyNetwork]]:
    """Pair networks that were stopped early with the partner of the nearest clean accuracy, within a point."""
    partners, found = [one for one in every if is_partner(one)], []
    for short in stopped():
        nearest = min(partners, key=lambda other: abs(other.clean - short[1]))
        if abs(nearest.clean - short[1]) <= NEAREST:
            found.append((short, nearest))
    return found


def stopped_early_beside() -> str:
    """List networks that were stopped early beside unstable ones that are as good without noise."""
    rows = []
    for (one, clean, noisy), other in sorted(stopped_beside(networks()), key=lambda pair: pair[0][1]):
        spec = evidence().sound[one["run"]].record.spec
        numbers = [f"{value:.1f}" for value in (clean, noisy[GAUSSIAN], other.clean, other.noisy[GAUSSIAN])]
        difference = f"{other.noisy[GAUSSIAN] - noisy[GAUSSIAN]:+.1f}"
        rows.append([f"`{one['scheme']}`", str(spec.recipe.epochs), *numbers[:2], f"`{rounded_name(other.name)}`"])
        rows[-1] += [*numbers[2:], difference]
    heads = ["Stopped early", "Epochs", "clean", GAUSSIAN, "Not zero-stable, 160 epochs", "clean", GAUSSIAN]
    return table([*heads, "Difference"], rows)


def _stopped_difference() -> str:
    """Write the difference of unstable networks and equally accurate ones that were stopped early."""
    pairs = stopped_beside(networks())
    return str(_known(matched_difference([other.noisy[GAUSSIAN] - noisy[GAUSSIAN] for (_, _, noisy), other in pairs])))


def tested(found: Sequence[MatchedDifference]) -> str:
    """Write how many differences are shown, and how many are equal within half a point."""
    told, equal = (sum(test(one) for one in found) for test in (lambda d: d.certain, lambda d: d.negligible))
    noises = f"{told} of {len(found)} noises"
    return f"a difference is shown under {noises}, equality within 0.5 points under {equal}"


def _pair_differences() -> list[MatchedDifference]:
    return [_known(matched_difference([one.difference(noise) for one in pairs()])) for noise in NOISES]


def corrupted_pairs() -> MatchedDifference:
    """Average the difference in what corruption takes between one network in two scales: unstable less zero-stable."""
    lost = {one.name.removeprefix("zerosnet56 "): one.errors.mean - one.errors.clean for one in corrupted()}
    both = [(lost.get(pair.unstable.name), lost.get(pair.stable.name)) for pair in pairs()]
    return _known(matched_difference([a - b for a, b in both if a is not None and b is not None]))


def explain_corruption(
    every: Sequence[tuple[CorruptedNetwork, float]], by: Sequence[str], *, relative: bool = True
) -> Regression:
    """Explain what corruption takes, in percent of clean accuracy or points, by depth, roots, clean error."""
    columns = {
        CLEAN: [log(one.errors.clean) for one, _ in every],
        DEPTH: [log(parameters) for _, parameters in every],
        ROOTS: [float(bool(one.zero_stable)) for one, _ in every],
    }
    losses = [relative_loss(one) if relative else one.errors.mean - one.errors.clean for one, _ in every]
    return regress(losses, {name: columns[name] for name in by})


def relative_loss(one: CorruptedNetwork) -> float:
    """The part of the clean accuracy that corruption takes away, in percent."""
    return 100 * (one.errors.mean - one.errors.clean) / (100 - one.errors.clean)


@cache
def corrupted_with_depth() -> tuple[tuple[CorruptedNetwork, float], ...]:
    """Find the effective parameters of the networks under corruption."""
    known = {"preresnet56" if one.name == EULER else f"zerosnet56 {one.name}": one.parameters for one in networks()}
    return tuple((one, known[one.name]) for one in corrupted() if one.name in known)


@cache
def beside_euler() -> tuple[Difference, ...]:
    """Compare all 56-layer networks whose blocks all survive, by the law, with Euler's scheme; deviations pooled."""
    return tuple(one for one, _ in _beside_euler())


@cache
def _beside_euler() -> tuple[tuple[Difference, bool], ...]:
    """The same, each with whether the network starts near the threshold of survival."""
    results = {run.record.id: run.record.result for run in evidence().runs}
    groups: dict[tuple[str, ...], list[float]] = {}
    near: dict[tuple[str, ...], bool] = {}
    euler: tuple[str, ...] = ()
    for point, ids in read_groups("best"):
        if tuple(point.wiring.counts) == BLOCKS and load_law().survivors(point.wiring).all():
            found = [results[run] for run in ids]
            groups[ids] = [100 * (one.best_test_accuracy or 0.0) for one in found if one is not None]
            near[ids] = load_law().is_near(point.wiring)
            euler = ids if point.scheme == EULER else euler
    compared = [
        (pooled_difference(values, groups[euler], groups.values()), near[ids])
        for ids, values in groups.items()
        if ids != euler
    ]
    return tuple((one, close) for one, close in compared if one is not None)


def worse_near() -> str:
    """Count the networks worse than Euler's scheme that start near the threshold of survival."""
    return str(sum(close for one, close in _beside_euler() if _worse(one)))


def beside_euler_words() -> str:
    every = beside_euler()
    counts = [sum(test(one) for one in every) for test in (_better, _worse, lambda d: d.verdict.startswith("equal"))]
    better, worse, equal, rest = *counts, len(every) - sum(counts)
    return f"{better} are better, {worse} worse, {equal} equal within 0.5 points and {rest} undecided"


def worse_by_holm(level: float = 0.05) -> str:
    """Count the networks worse than Euler's scheme by Holm's correction for all comparisons."""
    every = sorted(beside_euler(), key=lambda one: one.p)
    told = takewhile(lambda item: item[1].p <= level / (len(every) - item[0]), enumerate(every))
    return str(sum(one.high < 0 for _, one in told))


def _better(one: Difference) -> bool:
    return one.low > 0


def _worse(one: Difference) -> bool:
    return one.high < 0


def _known(found: MatchedDifference | None) -> MatchedDifference:
    assert found is not None, "expected two differences or more"
    return found


def _alone(by: str, *, relative: bool = True) -> str:
    return f"{100 * explain_corruption(corrupted_with_depth(), [by], relative=relative).explained:.0f}"


TABLES: dict[str, Callable[[], str]] = {
    "noise, truncated twins": truncated_twins,
    "noise, stopped early, beside": stopped_early_beside,
}
VALUES: dict[str, Callable[[], str]] = {
    "noise, stopped early, beside": _stopped_difference,
    "noise, stopped early, pairs": lambda: str(len(stopped_beside(networks()))),
    "noise, twins": lambda: str(twin_difference(twins(networks()), GAUSSIAN)),
    "noise, twins by peers": lambda: str(peers_difference(networks(), GAUSSIAN)),
    "noise, twins tested": lambda: tested([twin_difference(twins(networks()), noise) for noise in NOISES]),
    "noise, pairs tested": lambda: tested(_pair_differences()),
    "corruptions, pairs": lambda: str(corrupted_pairs()),
    "corruptions, pairs equal": lambda: "shown" if corrupted_pairs().negligible else "not shown",
    "corruptions, relative": lambda: span([relative_loss(one) for one in corrupted()], 0),
    "corruptions, by depth": lambda: _alone(DEPTH),
    "corruptions, by depth, points": lambda: _alone(DEPTH, relative=False),
    "corruptions, by roots": lambda: _alone(ROOTS),
    "corruptions, roots beside depth": lambda: str(explain_corruption(corrupted_with_depth(), [DEPTH, ROOTS])[ROOTS]),
    "euler, compared": lambda: str(len(beside_euler())),
    "euler, outcome": beside_euler_words,
    "euler, worse by Holm": worse_by_holm,
    "euler, worse near": worse_near,
    "euler, at most": lambda: f"{ceil(10 * max(one.high for one in beside_euler())) / 10:.1f}",
}

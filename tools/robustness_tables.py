"""Tables and numbers about robustness, from the records in results/runs."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import floor, sqrt
from statistics import mean, variance

from tools.law_tables import PREDICTIONS as PREDICTIONS
from tools.markdown_tables import benchmark, span, table
from tools.run_tables import evidence
from zerosnet.experiments import (
    CLEAN,
    DEPTH,
    LEARNED,
    NOISES,
    ROOTS,
    CorruptedNetwork,
    GaugePair,
    MatchedDifference,
    NoisyNetwork,
    RegisteredNoise,
    adjusted_difference,
    corrupted_networks,
    explain_loss,
    fit_noise_law,
    gauge_pairs,
    match,
    matched_difference,
    noisy_networks,
    raw_difference,
    registered_errors,
    regress,
    rounded_name,
)
from zerosnet.experiments import registered_noise as read_registered
from zerosnet.training import RunSpec

GAUSSIAN = "Gaussian 0.04"
LAWS = ("parts", "root_condition", "constant")


@cache
def networks() -> tuple[NoisyNetwork, ...]:
    return tuple(noisy_networks(evidence()))


def explained_losses() -> str:
    """List, per noise and way to count the loss, what explains it: each alone, and roots beside the rest."""
    rows = []
    for relative, way in ((True, "% of clean"), (False, "points")):
        for noise in NOISES:
            beside = explain_loss(networks(), noise, relative=relative)[ROOTS]
            parts = [_explained(noise, by, relative) for by in (DEPTH, ROOTS, CLEAN)]
            cells = [*(f"{part} %" for part in parts), f"{100 * beside.alone:.1f} %", str(beside), _p(beside.p)]
            rows.append([noise, way, *cells])
    explained = ["Explained by effective parameters", "by roots", "by clean error", "by roots, beside them"]
    return table(["Noise", "Loss in", *explained, "Zero-stable, minus the others", "p"], rows)


def _explained(noise: str, by: str, relative: bool = True) -> str:
    """Write the percentage of the variance of the loss that one quantity explains."""
    return f"{100 * explain_loss(networks(), noise, [by], relative=relative).explained:.0f}"


def matched_networks() -> str:
    """List the difference between networks that are not zero-stable and zero-stable ones that are as good, or deep."""
    plain, good, deep = match(_plain()), match(networks()), match(networks(), "predicted depth")
    rows = [["clean", *(_words([one.clean_difference for one in found]) for found in (plain, good)), ""]]
    rows[0].append(_words([one.clean_difference for one in deep]))
    for noise in NOISES:
        matched = [_words([one.difference(noise) for one in found]) for found in (plain, good, deep)]
        rows.append([noise, *matched[:2], str(adjusted_difference(networks(), noise)), matched[2]])
    heads = [
        f"Equal clean accuracy, one scheme in all blocks ({len(plain)} networks)",
        f"Equal clean accuracy, all ({len(good)})",
        f"Beside clean accuracy, all ({len(networks())})",
        f"Equal effective parameters, all ({len(deep)})",
    ]
    return table(["Noise", *heads], rows)


def _plain() -> list[NoisyNetwork]:
    return [one for one in networks() if one.plain]


def pairs() -> tuple[GaugePair, ...]:
    return tuple(gauge_pairs(networks()))


def paired_networks() -> str:
    """List the differences within pairs of one network in two scales, under every noise, and their mean."""
    rows = []
    for one in pairs():
        differences = [one.clean_difference, *(one.difference(noise) for noise in NOISES)]
        names = [rounded_name(network.name) for network in (one.unstable, one.stable)]
        rows.append([*names, f"{one.stable.clean:.1f}", *(f"{value:+.1f}" for value in differences)])
    every = [[one.clean_difference for one in pairs()], *([one.difference(n) for one in pairs()] for n in NOISES)]
    rows.append(["**mean, 95 % interval**", "", "", *map(_words, every)])
    return table(["Not zero-stable", "Zero-stable", "its clean accuracy", "clean", *NOISES], rows)


def noise_laws() -> str:
    """List the constants of the law per noise, and its errors beside those of the root condition and a constant."""
    rows = []
    for noise in NOISES:
        law = fit_noise_law(networks(), noise)
        errors = [f"{law.left_out[name]:.1f}" for name in ("parts", "root_condition", "constant")]
        rows.append([noise, f"{law.a:.1f}", f"{law.p:.3f}", *errors])
    return table(["Noise", "$a$, %", "$p$", "Error, points", "Root condition", "A constant"], rows)


@cache
def registered() -> tuple[RegisteredNoise, ...]:
    return tuple(read_registered(evidence()))


def _measured() -> list[RegisteredNoise]:
    return [one for one in registered() if one.measured is not None]


def _learned() -> list[RegisteredNoise]:
    """List the measured networks that learned."""
    return [one for one in _measured() if one.clean is not None and one.clean >= LEARNED]


def registered_noise() -> str:
    """List the errors of what was registered before training, per noise, over the runs that have been measured."""
    there, listed = _measured(), len(registered())
    if not there:
        return f"None of the {listed} runs has been measured."
    rows = []
    for noise in NOISES:
        errors = registered_errors(there, noise)
        inside = sum(one.is_inside(noise) for one in there)
        rows.append([noise, *(f"{errors[law]:.1f}" for law in LAWS), f"{inside} of {len(there)}"])
    first = f"Noise ({len(there)} of {listed} runs measured)"
    heads = [first, "Error of the law, points", "Root condition", "A constant", "In the 90 % interval"]
    return table(heads, rows)


def registered_networks() -> str:
    """List every network that was measured after its prediction, seeds joined, under the stronger Gaussian noise."""
    groups: dict[tuple[str, str], list[RegisteredNoise]] = defaultdict(list)
    for one in _measured():
        groups[one.run.split("-")[0], one.name].append(one)
    rows = []
    for key, found in sorted(groups.items(), key=lambda item: -mean(one.clean or 0.0 for one in item[1])):
        first = found[0]
        values = [one.measured[GAUSSIAN] for one in found if one.measured is not None]
        low, high = first.intervals[GAUSSIAN]
        rows.append(
            [
                rounded_name(" ".join(filter(None, key))),
                "yes" if first.zero_stable else "no",
                f"{mean(one.clean or 0.0 for one in found):.1f}",
                f"{first.predicted[GAUSSIAN]['parts']:.1f} ({low:.1f} to {high:.1f})",
                ", ".join(f"{value:.1f}" for value in values),
            ]
        )
    return table(["Network", "Zero-stable", "Clean", "Predicted (90 % interval)", "Measured, by run"], rows)


@cache
def corrupted() -> tuple[CorruptedNetwork, ...]:
    return tuple(corrupted_networks(evidence()))


def corruptions() -> str:
    """List mean errors under corruption, and what of them is lost to corruption; ratios if the reference is there."""
    compared = any(one.error is not None for one in corrupted())
    rows = []
    for one in corrupted():
        errors = one.errors
        numbers = [f"{value:.1f}" for value in (errors.clean, errors.mean, errors.mean - errors.clean)]
        ratios = ["" if value is None else f"{value:.1f}" for value in (one.error, one.relative)] if compared else []
        side = {True: "yes", False: "no", None: "trained"}[one.zero_stable]
        rows.append([rounded_name(one.name), side, *numbers, *ratios])
    heads = ["Network", "Zero-stable", "Clean error, %", "Mean error under corruption, %", "Lost to corruption, points"]
    return table([*heads, *(["mCE, %", "Relative mCE, %"] if compared else [])], rows)


def seed_deviation(noise: str = GAUSSIAN) -> float:
    """The standard deviation of one seed about the mean of its network, pooled over networks with several."""
    groups: dict[RunSpec, list[float]] = defaultdict(list)
    for run in evidence().runs:
        attack = run.attack("paper-noise")
        spec = run.record.spec
        if attack is not None and (spec.dataset, spec.recipe.name, spec.precision) == ("cifar10", "paper", None):
            groups[replace(spec, seed=0)] += [100 * row.accuracy for row in attack.rows if row.label == noise]
    several = [found for found in groups.values() if len(found) > 1]
    return sqrt(sum((len(f) - 1) * variance(f) for f in several) / sum(len(f) - 1 for f in several))


def agreement() -> str:
    """List how far the regenerated corruptions agree with the published program, given the same random numbers."""
    rows = []
    for name, one in benchmark("corruptions")["corruptions"].items():
        equal = [100 * severity["equal"] for severity in one["severities"]]
        lowest = "all" if min(equal) == 100 else f"{floor(10 * min(equal)) / 10:.1f} %"
        most = max(severity["most"] for severity in one["severities"])
        rows.append([name.replace("_", " "), "drawn by index" if one["random"] else "none", lowest, str(most)])
    return table(["Corruption", "Random numbers", "Values that are equal", "Largest difference, of 255"], rows)


def _words(values: list[float]) -> str:
    return str(matched_difference(values))


def _matched(noise: str, by: str, every: Sequence[NoisyNetwork] | None = None) -> MatchedDifference:
    found = matched_difference([one.difference(noise) for one in match(every or networks(), by)])
    assert found is not None
    return found


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else "< 0.01"


def _errors(law: str) -> str:
    return span([fit_noise_law(networks(), noise).left_out[law] for noise in NOISES], 1)


def _straight(noise: str = GAUSSIAN) -> str:
    """The difference beside clean accuracy itself in place of the logarithm of the error: another form, less good."""
    columns = {"clean": [one.clean for one in networks()], ROOTS: [float(not one.zero_stable) for one in networks()]}
    found = regress([one.noisy[noise] for one in networks()], columns)[ROOTS]
    return str(MatchedDifference(found.value, found.low, found.high, len(networks())))


def _excluded(differs: Callable[[str], bool]) -> str:
    """Count and name the noises under which an interval excludes zero."""
    found = [noise for noise in NOISES if differs(noise)]
    return f"{len(found)} of {len(NOISES)} noises" + (f" ({', '.join(found)})" if found else "")


def _roots_matter(noise: str) -> bool:
    effect = explain_loss(networks(), noise)[ROOTS]
    return not effect.low < 0 < effect.high


def _differs(by: str) -> Callable[[str], bool]:
    return lambda noise: (found := _matched(noise, by)) is not None and found.certain


def _corruption_speed() -> str:
    """Write how long the corruptions took."""
    one = benchmark("corruptions-cuda")
    work = f"{one['networks']} networks, {one['settings']} settings and {one['images']:,} images"
    return f"{work} took {one['seconds']:.0f} s on an {one['hardware'].split()[-1]}"


TABLES: dict[str, Callable[[], str]] = {
    "noise, explained": explained_losses,
    "noise, matched": matched_networks,
    "noise, pairs": paired_networks,
    "noise, law": noise_laws,
    "noise, registered": registered_noise,
    "noise, registered networks": registered_networks,
    "corruptions, networks": corruptions,
    "corruptions, agreement": agreement,
}
VALUES: dict[str, Callable[[], str]] = {
    "corruptions, images": lambda: str(benchmark("corruptions")["images"]),
    "corruptions, speed": _corruption_speed,
    "corruptions, lost": lambda: span([one.errors.mean - one.errors.clean for one in corrupted()], 1),
    "corruptions, count": lambda: str(len(corrupted())),
    "noise, raw": lambda: f"{raw_difference(networks(), GAUSSIAN):+.1f}",
    "noise, seeds": lambda: f"{seed_deviation():.1f}",
    "noise, adjusted": lambda: str(adjusted_difference(networks(), GAUSSIAN)),
    "noise, adjusted straight": _straight,
    "noise, paired": lambda: _words([one.difference(GAUSSIAN) for one in pairs()]),
    "noise, registered count": lambda: f"{len(_measured())} of {len(registered())}",
    "noise, registered errors": lambda: span([registered_errors(_measured(), n)["parts"] for n in NOISES], 1),
    "noise, registered roots": lambda: span([registered_errors(_measured(), n)["root_condition"] for n in NOISES], 1),
    "noise, learned errors": lambda: span([registered_errors(_learned(), n)["parts"] for n in NOISES], 1),
    "noise, learned roots": lambda: span([registered_errors(_learned(), n)["root_condition"] for n in NOISES], 1),
    "noise networks": lambda: str(len(networks())),
    "noise law errors": lambda: _errors("parts"),
    "noise root errors": lambda: _errors("root_condition"),
    "noise, equal accuracy": lambda: str(_matched(GAUSSIAN, "clean accuracy")),
    "noise, equal accuracy, plain": lambda: str(_matched(GAUSSIAN, "clean accuracy", _plain())),
    "noise, equal accuracy, plain told": lambda: _excluded(lambda n: _matched(n, "clean accuracy", _plain()).certain),
    "noise, roots told": lambda: _excluded(_roots_matter),
    "noise, equal accuracy told": lambda: _excluded(_differs("clean accuracy")),
    "noise, equal depth told": lambda: _excluded(_differs("predicted depth")),
    "noise, beside accuracy told": lambda: _excluded(lambda noise: adjusted_difference(networks(), noise).certain),
    "noise, by depth": lambda: _explained(GAUSSIAN, DEPTH),
    "noise, by depth, points": lambda: _explained(GAUSSIAN, DEPTH, relative=False),
    "noise, by roots, points": lambda: f"{100 * explain_loss(networks(), GAUSSIAN, relative=False)[ROOTS].alone:.0f}",
    "noise, by roots": lambda: f"{100 * explain_loss(networks(), GAUSSIAN)[ROOTS].alone:.0f}",
}

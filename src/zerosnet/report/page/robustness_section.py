"""What is robust, to what, compared with what: noise at equal accuracy, corruptions, certificates, attacks."""

from collections.abc import Callable, Sequence
from statistics import fmean

from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    CorruptedNetwork,
    Evidence,
    NoisyNetwork,
    adjusted_difference,
    attacked_networks,
    certified_networks,
    corrupted_networks,
    datasets,
    explain_loss,
    fit_noise_law,
    gauge_pairs,
    left_out_predictions,
    match,
    matched_difference,
    noisy_networks,
    raw_difference,
    rounded_name,
)
from zerosnet.report.page.chart import Chart, Series, figures
from zerosnet.report.page.html import Html, element, signed
from zerosnet.report.page.radius_section import LOOKS, attacks, certificates, stability_text
from zerosnet.report.page.tables import plain_table

NOISE = "Gaussian 0.04"
_SIDES = ((True, "zero-stable", 0), (False, "not zero-stable", 1))
_LEAST = 6  # networks of each side, below which a comparison means nothing
_MATCHED = "Networks that are not zero-stable, minus zero-stable ones: points of accuracy, with 95 % intervals"
_COMPARED = (
    "noise",
    "equal clean accuracy",
    "beside clean accuracy",
    "equal effective parameters",
    "the same in two scales",
)
_ABOUT = (
    "Equal: the mean of all zero-stable networks within one point of clean accuracy, or within a quarter of the "
    "effective parameters. Beside clean accuracy: by a regression on the logarithm of the clean error, over all "
    "networks. The same in two scales: pairs of a scheme that is not zero-stable and a zero-stable one that differ by "
    "the scale of their state alone, and so compute the same function of the weights, up to their first blocks."
)


def robustness_section(evidence: Evidence) -> list[Html]:
    """One part per question and data set that the stores can answer; nothing if they can answer none."""
    noisy = noisy_networks(evidence)
    sides = [sum(one.zero_stable is side for one in noisy) for side in (True, False)]
    parts = _noise(noisy) if min(sides) >= _LEAST else []
    for dataset in datasets(evidence):
        if corrupted := corrupted_networks(evidence, dataset):
            parts += _corruptions(corrupted, dataset)
        if certified := certified_networks(evidence, dataset):
            parts += certificates(certified, dataset)
        if attacked := attacked_networks(evidence, dataset):
            parts += attacks(attacked, dataset)
    return parts


def _noise(networks: Sequence[NoisyNetwork]) -> list[Html]:
    both, depth = explain_loss(networks, NOISE), explain_loss(networks, NOISE, [DEPTH])
    law = fit_noise_law(networks, NOISE)
    raw, equal = raw_difference(networks, NOISE), matched_difference([one.difference(NOISE) for one in match(networks)])
    beside = "" if equal is None else f", and by {signed(str(equal))} from zero-stable ones of equal clean accuracy"
    words = (
        f"Under {NOISE} networks that are not zero-stable differ by {signed(f'{raw:+.1f}')} points from all others"
        f"{beside}. Effective parameters explain {100 * depth.explained:.0f} % of how much accuracy networks lose "
        f"({len(networks)} of them). The root condition adds {100 * both[ROOTS].alone:.0f} %. Predicted from the "
        f"coefficients of each network and the other networks, accuracy under this noise is missed by "
        f"{law.left_out['parts']:.1f} points; by the root condition alone, by {law.left_out['root_condition']:.1f}."
    )
    predicted = {id(one): found["parts"] for one, found in zip(networks, left_out_predictions(networks, NOISE))}
    charts = [
        Chart(
            f"{NOISE}: what is lost",
            "effective parameters, from the coefficients",
            "loss, % of clean accuracy",
            _series(networks, lambda one: (one.parameters, one.loss(NOISE))),
            "Loss under noise against effective parameters; it falls as they grow, for zero-stable schemes and others.",
            log_x=True,
        ),
        Chart(
            f"{NOISE}: predicted and measured",
            "predicted accuracy, %",
            "measured accuracy, %",
            _series(networks, lambda one: (predicted[id(one)], one.noisy[NOISE])),
            "Measured accuracy under noise against the prediction that was fitted to the other networks.",
        ),
    ]
    return [
        element("h3", "Noise: compared with networks that are as good"),
        element("p", words),
        figures(charts),
        plain_table(_MATCHED, _COMPARED, _differences(networks), len(_COMPARED) - 1),
        element("p", _ABOUT, class_="small muted"),
    ]


def _series(networks: Sequence[NoisyNetwork], place: Callable[[NoisyNetwork], tuple[float, float]]) -> list[Series]:
    found = []
    for side, name, look in _SIDES:
        chosen = [one for one in networks if one.zero_stable is side]
        titles = [f"{rounded_name(one.name)}: clean {one.clean:.1f} %, {one.noisy[NOISE]:.1f} %" for one in chosen]
        found.append(Series(name, [place(one) for one in chosen], look, look, line=False, titles=titles))
    return found


def _differences(networks: Sequence[NoisyNetwork]) -> list[list[object]]:
    """Differences in points with their intervals, per noise, in the order of `_COMPARED`."""
    good, deep, pairs = match(networks), match(networks, "predicted depth"), gauge_pairs(networks)
    rows: list[list[object]] = []
    for noise in NOISES:
        found = [matched_difference([one.difference(noise) for one in each]) for each in (good, deep, pairs)]
        found.insert(1, adjusted_difference(networks, noise))
        rows.append([noise, *("" if one is None else signed(str(one)) for one in found)])
    return rows


def _corruptions(networks: Sequence[CorruptedNetwork], dataset: str) -> list[Html]:
    """A chart over the severity, and a table; ratios to the reference only if it was measured."""
    source = " and ".join(sorted({one.errors.source for one in networks}))
    compared = any(one.error is not None for one in networks)
    ratios = (
        "The mean corruption error (mCE) is in percent of PreResNet-56's; relative: of what is lost to corruption."
        if compared
        else "There is no mean corruption error: its reference, PreResNet-56, has not been measured on the same "
        "images, or makes no error under some corruption."
    )
    words = (
        f"Corruptions as in CIFAR-10-C, {source}: mean error over corruptions and severities, and what is lost to "
        f"corruption, clean errors taken off. {ratios} A generated frost is left out."
    )
    heads = ["network", "recipe", "zero-stable", "clean error %", "mean error %", "lost, points"]
    heads += [*(["mCE %", "relative mCE %"] if compared else []), "images", "seeds"]
    rows = [_line(one, compared) for one in networks]
    series = [_severities(one, named) for one, named in _first_of_each(networks)]
    about = "Accuracy, the mean over corruptions, against their severity, a line for each network."
    chart = Chart("Mean over corruptions", "severity, 0 is clean", "test accuracy, %", series, about)
    table = plain_table("Common corruptions", heads, rows, len(heads) - 3)
    return [element("h3", f"Corruptions: {dataset}"), element("p", words), figures([chart]), table]


def _line(network: CorruptedNetwork, compared: bool) -> list[object]:
    errors = network.errors
    numbers = [f"{value:.2f}" for value in (errors.clean, errors.mean, errors.mean - errors.clean)]
    ratios = ["" if value is None else f"{value:.1f}" for value in (network.error, network.relative)]
    first = [rounded_name(network.name), network.recipe, stability_text(network.zero_stable)]
    return [*first, *numbers, *(ratios if compared else []), f"{network.images:,}", network.runs]


def _first_of_each(networks: Sequence[CorruptedNetwork]) -> list[tuple[CorruptedNetwork, bool]]:
    """Find which network is the first on its side of the root condition: it stands in the legend."""
    seen: set[bool | None] = set()
    found = []
    for one in networks:
        found.append((one, one.zero_stable not in seen))
        seen.add(one.zero_stable)
    return found


def _severities(network: CorruptedNetwork, named: bool) -> Series:
    """The mean accuracy over corruptions by severity, clean first."""
    errors, stable = network.errors, network.zero_stable
    means = [fmean(column) for column in zip(*(errors.by_severity[name] for name in errors.counted))]
    points = [(float(severity), 100 - error) for severity, error in enumerate([errors.clean, *means])]
    words = {True: "zero-stable", False: "not zero-stable", None: "trained coefficients"}[stable]
    look = LOOKS[stable]
    return Series(words, points, look, look, dashed=stable is False, title=rounded_name(network.name), legend=named)

"""What is robust, to what, compared with what: noise at equal accuracy, corruptions, certificates."""

from collections.abc import Callable, Sequence

from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    CertifiedNetwork,
    CorruptedNetwork,
    Evidence,
    NoisyNetwork,
    certified_networks,
    corrupted_networks,
    explain_loss,
    fit_noise_law,
    left_out_predictions,
    match,
    matched_difference,
    noisy_networks,
)
from zerosnet.report.page.chart import Chart, Series, figures
from zerosnet.report.page.html import Html, element, signed
from zerosnet.report.page.tables import plain_table

NOISE = "Gaussian 0.04"
_SIDES = ((True, "zero-stable", 0), (False, "not zero-stable", 1))
_LEAST = 6  # networks of each side, below which a comparison says nothing
_MATCHED = "Networks that are not zero-stable, less zero-stable ones that are as good, or use as much depth"


def robustness_section(evidence: Evidence) -> list[Html]:
    """One part per question that the stores can answer; nothing if they can answer none."""
    noisy = noisy_networks(evidence)
    sides = [sum(one.zero_stable is side for one in noisy) for side in (True, False)]
    parts = _noise(noisy) if min(sides) >= _LEAST else []
    corrupted, certified = corrupted_networks(evidence), certified_networks(evidence)
    return [*parts, *(_corruptions(corrupted) if corrupted else []), *(_certificates(certified) if certified else [])]


def _noise(networks: Sequence[NoisyNetwork]) -> list[Html]:
    both, depth = explain_loss(networks, NOISE), explain_loss(networks, NOISE, [DEPTH])
    law = fit_noise_law(networks, NOISE)
    words = (
        f"Under {NOISE} effective parameters explain {100 * depth.explained:.0f} % of how much accuracy networks lose "
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
        plain_table(_MATCHED, ("noise", "equal clean accuracy", "equal predicted depth"), _differences(networks), 2),
    ]


def _series(networks: Sequence[NoisyNetwork], place: Callable[[NoisyNetwork], tuple[float, float]]) -> list[Series]:
    found = []
    for side, name, look in _SIDES:
        chosen = [one for one in networks if one.zero_stable is side]
        titles = [f"{one.scheme}: clean {one.clean:.1f} %, {one.noisy[NOISE]:.1f} %" for one in chosen]
        found.append(Series(name, [place(one) for one in chosen], look, look, line=False, titles=titles))
    return found


def _differences(networks: Sequence[NoisyNetwork]) -> list[list[object]]:
    """Differences in points with their intervals, per noise."""
    matches = [match(networks, by) for by in ("clean accuracy", "predicted depth")]
    rows: list[list[object]] = []
    for noise in NOISES:
        found = [matched_difference([one.difference(noise) for one in each]) for each in matches]
        rows.append([noise, *("" if one is None else signed(str(one)) for one in found)])
    return rows


def _corruptions(networks: Sequence[CorruptedNetwork]) -> list[Html]:
    source = " and ".join(sorted({one.errors.source for one in networks}))
    words = (
        f"Corruptions of CIFAR-10-C, {source}: mean error over corruptions and severities, and the mean corruption "
        "error in percent of PreResNet-56's. Relative: of what is lost to corruption. A generated frost is left out."
    )
    heads = ("network", "recipe", "zero-stable", "clean error %", "mean error %", "mCE %", "relative mCE %", "seeds")
    rows = [
        [one.name, one.recipe, _side(one.zero_stable), f"{one.errors.clean:.2f}", f"{one.errors.mean:.2f}"]
        + ["" if value is None else f"{value:.1f}" for value in (one.error, one.relative)]
        + [str(one.runs)]
        for one in networks
    ]
    return [element("h3", "Corruptions"), element("p", words), plain_table("Common corruptions", heads, rows, 5)]


def _certificates(networks: Sequence[CertifiedNetwork]) -> list[Html]:
    words = (
        "Randomised smoothing: the part of all test images that is answered correctly, and provably so for every "
        "perturbation within the radius."
    )
    series = [
        Series(one.name, sorted(one.certified.items()), place % 8, place % 8, dashed=one.zero_stable is False)
        for place, one in enumerate(networks)
    ]
    about = "; ".join(f"{one.name}: mean radius {one.mean_radius:.3f}" for one in networks)
    chart = Chart("Certified accuracy", "L2 radius", "certified accuracy, %", series, f"{about}.")
    return [element("h3", "Certificates"), element("p", words), figures([chart])]


def _side(zero_stable: bool | None) -> str:
    return {True: "yes", False: "no", None: "trained"}[zero_stable]

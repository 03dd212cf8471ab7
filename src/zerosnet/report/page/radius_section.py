"""Certified accuracy, and accuracy under white-box attacks, over the radius."""

from collections.abc import Iterable, Sequence

from zerosnet.experiments import AttackedNetwork, CertifiedNetwork, rounded_name
from zerosnet.report.page.chart import Chart, Series, figures
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.tables import plain_table
from zerosnet.robustness import radius_text

LOOKS = {True: 0, False: 1, None: 2}
"""Colours and marks by zero stability; None: trained coefficients."""
_DRAWN = ("pgd-50", "pgd-20")  # the strongest that was measured is drawn
_STRONGEST, _CROSS = "autoattack", 5
_MARKS = 8


def certificates(networks: Sequence[CertifiedNetwork], dataset: str) -> list[Html]:
    """Draw certified accuracy over the radius, one line per network, and a chart per noise."""
    words = (
        f"Randomised smoothing: the part of {_counts(one.images for one in networks)} test images that is answered "
        "correctly, and provably so for every perturbation within the radius."
    )
    sigmas = dict.fromkeys(one.sigma for one in networks)
    charts = []
    for sigma in sigmas:
        chosen = [one for one in networks if one.sigma == sigma]
        title = "Certified accuracy" + (f", noise of {sigma:g}" if len(sigmas) > 1 else "")
        names = [_name(one, several=len({one.recipe for one in chosen}) > 1) for one in chosen]
        series = [_line(one, name, place, one.certified) for place, (one, name) in enumerate(zip(chosen, names))]
        about = "; ".join(f"{name}: mean radius {one.mean_radius:.3f}" for one, name in zip(chosen, names))
        charts.append(Chart(title, "L2 radius", "certified accuracy, %", series, f"{about}."))
    return [element("h3", f"Certificates: {dataset}"), element("p", words), figures(charts)]


def attacks(networks: Sequence[AttackedNetwork], dataset: str) -> list[Html]:
    """Draw and list what white-box attacks leave, recipe by recipe."""
    words = (
        "Accuracy under attacks that see the network, in the L-infinity norm; the radius is in steps of 8-bit "
        "pixels. Compare networks of one recipe: adversarial training (pgd-madry) is a defence, others are not."
    )
    parts = [element("h3", f"White-box attacks: {dataset}"), element("p", words)]
    for recipe in dict.fromkeys(one.recipe for one in networks):
        chosen = [one for one in networks if one.recipe == recipe]
        parts += [*_attack_chart(chosen, recipe), _attack_table(chosen, recipe)]
    return parts


def stability_text(zero_stable: bool | None) -> str:
    """Write a cell on zero stability."""
    return {True: "yes", False: "no", None: "trained"}[zero_stable]


def _counts(numbers: Iterable[int]) -> str:
    """Write a number, or the range of several."""
    least, *_, most = sorted([*numbers] * 2)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _name(network: CertifiedNetwork, *, several: bool) -> str:
    """Name a network, with its recipe if there are several."""
    return rounded_name(network.name) + (f", recipe {network.recipe}" if several else "")


def _line(network: CertifiedNetwork | AttackedNetwork, name: str, place: int, curve: dict[float, float]) -> Series:
    """Draw a network's accuracy over the radius, dashed if it is not zero-stable."""
    look, words = LOOKS[network.zero_stable], {True: "", False: " (not zero-stable)", None: " (trained)"}
    return Series(
        name + words[network.zero_stable],
        sorted(curve.items()),
        look,
        place % _MARKS,
        dashed=network.zero_stable is False,
    )


def _attack_chart(networks: Sequence[AttackedNetwork], recipe: str) -> list[Html]:
    """Draw the accuracy under PGD over the radius, and what AutoAttack leaves as crosses."""
    method = next((name for name in _DRAWN if any(name in one.kept for one in networks)), None)
    if method is None:
        return []
    shown = [one for one in networks if method in one.kept]
    series = [
        _line(one, rounded_name(one.name), place, {0.0: one.clean, **one.over_radius(method)})
        for place, one in enumerate(shown)
    ]
    crossed = [one for one in shown if _STRONGEST in one.kept]
    for place, one in enumerate(crossed):
        points = sorted(one.over_radius(_STRONGEST).items())
        titles = [f"{rounded_name(one.name)}: {value:.1f} %" for _, value in points]
        look = LOOKS[one.zero_stable]
        series.append(Series("AutoAttack", points, look, _CROSS, line=False, titles=titles, legend=place == 0))
    title = f"Accuracy under {method.upper()}, recipe {recipe}"
    about = "A line per network, from clean images on" + ("; crosses are AutoAttack." if crossed else ".")
    return [figures([Chart(title, "L-infinity radius, of 255", "test accuracy, %", series, about)])]


def _attack_table(networks: Sequence[AttackedNetwork], recipe: str) -> Html:
    """List accuracies method by method, over the radii that one of the networks has."""
    columns = list(dict.fromkeys((method, eps) for one in networks for method in one.kept for eps in one.kept[method]))
    titles = ["network", "zero-stable", "clean %", *(f"{method} {radius_text(eps)}" for method, eps in columns)]
    rows: list[list[object]] = [
        [
            rounded_name(one.name),
            stability_text(one.zero_stable),
            f"{one.clean:.1f}",
            *_kept(one, columns),
            _images(one),
            one.runs,
        ]
        for one in networks
    ]
    heads = [*titles, "images", "seeds"]
    return plain_table(f"Test accuracy in %, recipe {recipe}", heads, rows, len(heads) - 2)


def _images(network: AttackedNetwork) -> str:
    """Write how many images were attacked; method by method if they differ."""
    if len(set(network.images.values())) == 1:
        return f"{next(iter(network.images.values())):,}"
    return ", ".join(f"{method} {count:,}" for method, count in network.images.items())


def _kept(network: AttackedNetwork, columns: Sequence[tuple[str, float]]) -> list[str]:
    found = (network.kept.get(method, {}).get(eps) for method, eps in columns)
    return ["" if value is None else f"{value:.1f}" for value in found]

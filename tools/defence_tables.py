"""Tables and numbers about certificates, attacks and early stops, from the records and predictions in results."""

import json
from collections.abc import Callable
from functools import cache
from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np

from tools.law_tables import PREDICTIONS
from tools.markdown_tables import span, table
from tools.run_tables import evidence
from zerosnet.experiments import (
    NOISES,
    AttackedNetwork,
    CertifiedNetwork,
    RunEvidence,
    attacked_networks,
    certified_networks,
    rounded_name,
)
from zerosnet.experiments.robust_networks import STRONG
from zerosnet.numerics import Scheme

RADII = (0.0, 0.25, 0.5)
RADIUS = 0.25
EPS = 8 / 255
NOISE = "Gaussian 0.04"
DEFENCE = "pgd-madry"
DRAWS = 20_000
PLACE_LAWS = ("parts", "root_condition", "modulus", "undefended")
PLACES = ("Place", "by the law", "by the root condition", "by the largest root", "by accuracy without defence")
LOSS_LAWS = ("parts", "root_condition", "clean_accuracy_line")
WORDS = {"pgd-20": "PGD-20", "pgd-50": "PGD-50", "autoattack": "AutoAttack"}
BETWEEN = "-1/5,6/5,0;11/5"
"""A scheme that is not zero-stable and, by the law, nearly as good as the optimum."""


@cache
def certified() -> tuple[CertifiedNetwork, ...]:
    return tuple(certified_networks(evidence()))


@cache
def defended() -> tuple[AttackedNetwork, ...]:
    """The networks that were trained on white-box adversarial examples."""
    return tuple(one for one in attacked_networks(evidence()) if one.recipe == DEFENCE)


@cache
def registered(recipe: str) -> dict[str, dict[str, Any]]:
    """Read what was registered for a recipe's networks by scheme."""
    stored = json.loads((PREDICTIONS / "defended.json").read_text())["predictions"]
    return {one["scheme"]: one for one in stored if one["recipe"]["name"] == recipe and "scheme" in one}


def places(values: dict[str, float]) -> dict[str, float]:
    """Place values between the lowest (0) and the highest (1)."""
    low, high = min(values.values()), max(values.values())
    return {name: (value - low) / (high - low) for name, value in values.items()}


@cache
def predicted(recipe: str) -> dict[str, dict[str, float]]:
    """Collect places by scheme and law: registered ones, and two that were known or chosen afterwards.

    `undefended` is the place of the accuracy with recipe `paper`, which the law was fitted to; `modulus` that of the
    largest root, the smallest being the best.
    """
    found = registered(recipe)
    graded = places({scheme: -one["largest_root"] for scheme, one in found.items()})
    known = places({scheme: _undefended(scheme) for scheme in found})
    return {s: {**one["place"], "modulus": graded[s], "undefended": known[s]} for s, one in found.items()}


def _undefended(scheme: str) -> float:
    """Average the best test accuracy of a scheme's networks with 56 layers and recipe `paper`."""
    wanted, found = Scheme.parse(scheme), []
    for run in evidence().runs:
        spec, result = run.record.spec, run.record.result
        usual = spec.dataset == "cifar10" and spec.recipe.name == "paper" and not (spec.changes or spec.rewired)
        if usual and spec.model.startswith("zerosnet56") and run.scheme == wanted and result is not None:
            found.append(100 * (result.best_test_accuracy or 0.0))
    return fmean(found)


def certificates() -> str:
    """List certified accuracies, and where a network lies between the worst and the best beside its predictions."""
    found = _certified_places()
    rows = []
    for one in certified():
        numbers = [f"{one.clean:.1f}", *(f"{one.certified[radius]:.1f}" for radius in RADII), f"{one.mean_radius:.3f}"]
        rows.append([f"`{_short(one.name)}`", _side(one.zero_stable), *numbers, *_place(found, "noise", one.name)])
    heads = ["Scheme", "Zero-stable", "Not smoothed, %", *(f"Certified at {radius:g}, %" for radius in RADII)]
    return table([*heads, "Mean radius", *PLACES], rows)


def adversarial() -> str:
    """List what attacks leave of networks that were trained on adversarial examples."""
    every = ({(method, eps) for method, kept in one.kept.items() for eps in kept} for one in defended())
    shown = [column for column in set.intersection(*every) if column[0] != "pgd-20"]
    columns = sorted(shown, key=lambda column: (STRONG.index(column[0]), column[1]))
    found, rows = _defended_places(), []
    for one in defended():
        left = [f"{one.kept[method][eps]:.1f}" for method, eps in columns]
        rows.append(
            [
                f"`{_short(one.name)}`",
                _side(one.zero_stable),
                f"{one.clean:.1f}",
                *left,
                *_place(found, DEFENCE, one.name),
            ]
        )
    heads = [f"{WORDS[method]}, {255 * eps:g}/255" for method, eps in columns]
    return table(["Scheme", "Zero-stable", "Clean", *heads, *PLACES], rows)


def _missed(law: str) -> str:
    """The root mean square error of a law over the places that are neither 0 nor 1 by definition, of both tables."""
    errors = []
    for recipe, found in (("noise", _certified_places()), (DEFENCE, _defended_places())):
        errors += [predicted(recipe)[s][law] - place for s, place in found.items() if 0 < place < 1]
    return f"{sqrt(fmean(error**2 for error in errors)):.2f}"


def _interval(counts: dict[str, float], images: int) -> str:
    """The 95 % interval of a place from the number of images: networks drawn anew, independent of each other."""
    draw = np.random.default_rng(1).binomial(images, [[value / 100 for value in counts.values()]] * DRAWS) / images
    place = (draw[:, list(counts).index(BETWEEN)] - draw.min(1)) / (draw.max(1) - draw.min(1))
    low, high = np.quantile(place, (0.025, 0.975))
    return f"{places(counts)[BETWEEN]:.2f} ({low:.2f} to {high:.2f})"


StoppedEarly = tuple[dict[str, Any], float, dict[str, float]]
"""A prediction, the clean accuracy and the accuracy by noise of a network that was stopped early."""


@cache
def stopped() -> tuple[StoppedEarly, ...]:
    """Find the networks that were stopped early: prediction, clean accuracy and accuracies by noise, in percent."""
    stored = json.loads((PREDICTIONS / "loss-stopped-early.json").read_text())["predictions"]
    runs = {run.record.id: run for run in evidence().runs}
    return tuple((one, *_noisy(runs[one["run"]])) for one in stored if one["run"] in runs)


def stopped_early() -> str:
    """List, per noise, how far predictions miss the loss of deep networks that were stopped early."""
    rows = []
    for noise in NOISES:
        losses = [100 * (1 - noisy[noise] / clean) for _, clean, noisy in stopped()]
        rows.append([noise, span(losses, 0), *(f"{_stopped_error(noise, law):.1f}" for law in LOSS_LAWS)])
    heads = ["Noise", "Loss, % of clean accuracy", "Missed by effective parameters", "by roots", "by clean accuracy"]
    return table(heads, rows)


def _noisy(run: RunEvidence) -> tuple[float, dict[str, float]]:
    attack = run.attack("paper-noise")
    assert attack is not None
    rows = {row.label if row.method == "noise" else row.method: 100 * row.accuracy for row in attack.rows}
    return rows["clean"], rows


def _loss(one: dict[str, Any], clean: float, noise: str, law: str) -> float:
    """Compute the registered loss in percent; no more than all of it can be lost."""
    laws = one["predicted_loss"][noise]
    if law != "clean_accuracy_line":
        return float(laws[law])
    intercept, slope = laws[law]
    return min(100.0, intercept + slope * clean)


def _stopped_error(noise: str, law: str) -> float:
    errors = [_loss(one, clean, noise, law) - 100 * (1 - noisy[noise] / clean) for one, clean, noisy in stopped()]
    return sqrt(fmean(error**2 for error in errors))


def _certified_at(radius: float) -> dict[str, float]:
    return {_scheme(one.name): one.certified[radius] for one in certified()}


def _left(method: str = "pgd-50") -> dict[str, float]:
    return {_scheme(one.name): one.kept[method][EPS] for one in defended()}


def _certified_places() -> dict[str, float]:
    return places(_certified_at(RADIUS))


def _defended_places() -> dict[str, float]:
    return places(_left())


def _place(found: dict[str, float], recipe: str, name: str) -> list[str]:
    laws = predicted(recipe)[_scheme(name)]
    return [f"{value:.2f}" for value in (found[_scheme(name)], *(laws[law] for law in PLACE_LAWS))]


def _over_radii() -> str:
    certain = [radius for radius, value in certified()[0].certified.items() if value > 0]
    return span([places(_certified_at(radius))[BETWEEN] for radius in certain], 2)


def _relative() -> str:
    return span([100 * one.kept["pgd-50"][EPS] / one.clean for one in defended()], 0)


def _scheme(name: str) -> str:
    return name.split(" ")[1]


def _short(name: str) -> str:
    return rounded_name(name).split(" ")[1]


def _side(zero_stable: bool | None) -> str:
    return {True: "yes", False: "no", None: "trained"}[zero_stable]


def _images() -> str:
    """Write on how many images each attack was run."""
    counts = {method: min(one.images.get(method, 0) for one in defended()) for method in STRONG[1:]}
    return ", ".join(f"{WORDS[method]} on {count:,}" for method, count in counts.items() if count)


TABLES: dict[str, Callable[[], str]] = {
    "certificates": certificates,
    "adversarial training": adversarial,
    "noise, stopped early": stopped_early,
}
VALUES: dict[str, Callable[[], str]] = {
    "certified, zero-stable": lambda: span([one.certified[RADIUS] for one in certified() if one.zero_stable], 1),
    "certified, worst": lambda: f"{min(_certified_at(RADIUS).values()):.1f}",
    "certified, between": lambda: f"{_certified_at(RADIUS)[BETWEEN]:.1f}",
    "certified, place": lambda: _interval(_certified_at(RADIUS), 500),
    "certified, place over radii": _over_radii,
    "defended, place": lambda: _interval(_left(), min(one.images["pgd-50"] for one in defended())),
    "defended, place by AutoAttack": lambda: _interval(
        _left("autoattack"), min(one.images["autoattack"] for one in defended())
    ),
    "defended, worst": lambda: f"{min(_left().values()):.1f}",
    "place, by law": lambda: f"{predicted('noise')[BETWEEN]['parts']:.2f}",
    "place, missed by law": lambda: _missed("parts"),
    "place, missed by roots": lambda: _missed("root_condition"),
    "place, missed by modulus": lambda: _missed("modulus"),
    "place, missed by accuracy": lambda: _missed("undefended"),
    "defended, images": _images,
    "defended, between": lambda: f"{_left()[BETWEEN]:.1f}",
    "defended, zero-stable": lambda: span([one.kept["pgd-50"][EPS] for one in defended() if one.zero_stable], 1),
    "defended, kept": _relative,
    "stopped early, losses": lambda: span([100 * (1 - noisy[NOISE] / clean) for _, clean, noisy in stopped()], 0),
    "stopped early, by depth": lambda: span([_loss(one, clean, NOISE, "parts") for one, clean, _ in stopped()], 0),
    "stopped early, by accuracy": lambda: span(
        [_loss(one, clean, NOISE, LOSS_LAWS[2]) for one, clean, _ in stopped()], 0
    ),
    "stopped early, clean": lambda: span([clean for _, clean, _ in stopped()], 0),
}

"""Tables and numbers about certificates, attacks and early stops, from the records and predictions in results."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from statistics import fmean
from typing import Any

from tools.law_tables import PREDICTIONS
from tools.markdown_tables import span, table
from tools.run_tables import evidence
from zerosnet.experiments import (
    AttackedNetwork,
    CertifiedNetwork,
    RunEvidence,
    attacked_networks,
    certified_networks,
    rounded_name,
)
from zerosnet.experiments.robust_networks import STRONG

RADII = (0.0, 0.25, 0.5)
RADIUS = 0.25
EPS = 8 / 255
NOISE = "Gaussian 0.04"
DEFENCE = "pgd-madry"
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
def predicted(recipe: str) -> dict[str, dict[str, float]]:
    """Read the registered places of a recipe's networks by scheme."""
    stored = json.loads((PREDICTIONS / "defended.json").read_text())["predictions"]
    return {one["scheme"]: one["place"] for one in stored if one["recipe"]["name"] == recipe and "scheme" in one}


def places(values: dict[str, float]) -> dict[str, float]:
    """Place values between the lowest (0) and the highest (1)."""
    low, high = min(values.values()), max(values.values())
    return {name: (value - low) / (high - low) for name, value in values.items()}


def certificates() -> str:
    """List certified accuracies, and where a network lies between the worst and the best beside its predictions."""
    found = _certified_places()
    rows = []
    for one in certified():
        scheme = _scheme(one.name)
        numbers = [f"{one.clean:.1f}", *(f"{one.certified[radius]:.1f}" for radius in RADII), f"{one.mean_radius:.3f}"]
        rows.append([f"`{_short(one.name)}`", _side(one.zero_stable), *numbers, *_place(found, "noise", scheme)])
    heads = ["Scheme", "Zero-stable", "Not smoothed, %", *(f"Certified at {radius:g}, %" for radius in RADII)]
    return table([*heads, "Mean radius", "Place", "by the law", "by the roots"], rows)


def adversarial() -> str:
    """List what attacks leave of networks that were trained on adversarial examples."""
    every = ({(method, eps) for method, kept in one.kept.items() for eps in kept} for one in defended())
    columns = sorted(set.intersection(*every), key=lambda column: (STRONG.index(column[0]), column[1]))
    found, rows = _defended_places(), []
    for one in defended():
        scheme = _scheme(one.name)
        left = [f"{one.kept[method][eps]:.1f}" for method, eps in columns]
        numbers = [f"{one.clean:.1f}", *left]
        rows.append([f"`{_short(one.name)}`", _side(one.zero_stable), *numbers, *_place(found, DEFENCE, scheme)])
    heads = [f"{WORDS[method]}, {255 * eps:g}/255" for method, eps in columns]
    return table(["Scheme", "Zero-stable", "Clean", *heads, "Place", "by the law", "by the roots"], rows)


@cache
def stopped() -> tuple[tuple[dict[str, Any], float, float], ...]:
    """Find the networks that were stopped early: prediction, clean accuracy and accuracy under noise, in percent."""
    stored = json.loads((PREDICTIONS / "loss-stopped-early.json").read_text())["predictions"]
    runs = {run.record.id: run for run in evidence().runs}
    return tuple((one, *_noisy(runs[one["run"]])) for one in stored if one["run"] in runs)


def stopped_early() -> str:
    """List the loss under noise of deep networks that were stopped early, beside its predictions."""
    rows = []
    for one, clean, noisy in stopped():
        by_depth, by_accuracy = _losses(one, clean)
        numbers = [f"{value:.1f}" for value in (clean, noisy, 100 * (1 - noisy / clean), by_depth, by_accuracy)]
        rows.append([f"`{one['scheme']}`", str(one["recipe"]["epochs"]), *numbers])
    heads = ["Scheme", "Epochs", "Clean, %", f"{NOISE}, %", "Loss, % of clean", "by depth", "by clean accuracy"]
    return table(heads, rows)


def _noisy(run: RunEvidence) -> tuple[float, float]:
    attack = run.attack("paper-noise")
    assert attack is not None
    rows = {row.label if row.method == "noise" else row.method: 100 * row.accuracy for row in attack.rows}
    return rows["clean"], rows[NOISE]


def _losses(one: dict[str, Any], clean: float) -> tuple[float, float]:
    """Compute the loss in percent by depth and by clean accuracy; no more than all of it can be lost."""
    laws = one["predicted_loss"][NOISE]
    intercept, slope = laws["clean_accuracy_line"]
    return laws["parts"], min(100.0, intercept + slope * clean)


def _stopped_errors(which: int) -> str:
    errors = [_losses(one, clean)[which] - 100 * (1 - noisy / clean) for one, clean, noisy in stopped()]
    return f"{sqrt(fmean(error**2 for error in errors)):.1f}"


def _certified_places() -> dict[str, float]:
    return places({_scheme(one.name): one.certified[RADIUS] for one in certified()})


def _defended_places() -> dict[str, float]:
    return places({_scheme(one.name): one.weakest(EPS) or 0.0 for one in defended()})


def _clean_places() -> dict[str, float]:
    return places({_scheme(one.name): one.clean for one in defended()})


def _place(found: dict[str, float], recipe: str, scheme: str) -> list[str]:
    laws = predicted(recipe)[scheme]
    return [f"{value:.2f}" for value in (found[scheme], laws["parts"], laws["root_condition"])]


def _scheme(name: str) -> str:
    return name.split(" ")[1]


def _short(name: str) -> str:
    return rounded_name(name).split(" ")[1]


def _side(zero_stable: bool | None) -> str:
    return {True: "yes", False: "no", None: "trained"}[zero_stable]


def _of(networks: Sequence[CertifiedNetwork], stable: bool) -> str:
    return span([one.certified[RADIUS] for one in networks if one.zero_stable is stable], 1)


def _images() -> str:
    """Tell on how many images each attack was run."""
    counts = {method: min(one.images.get(method, 0) for one in defended()) for method in STRONG}
    return ", ".join(f"{WORDS[method]} on {count:,}" for method, count in counts.items() if count)


TABLES: dict[str, Callable[[], str]] = {
    "certificates": certificates,
    "adversarial training": adversarial,
    "noise, stopped early": stopped_early,
}
VALUES: dict[str, Callable[[], str]] = {
    "certified, zero-stable": lambda: _of(certified(), True),
    "certified, others": lambda: _of(certified(), False),
    "certified, place": lambda: f"{_certified_places()[BETWEEN]:.2f}",
    "certified, place by law": lambda: f"{predicted('noise')[BETWEEN]['parts']:.2f}",
    "defended, place": lambda: f"{_defended_places()[BETWEEN]:.2f}",
    "defended, clean place": lambda: f"{_clean_places()[BETWEEN]:.2f}",
    "defended, images": _images,
    "stopped early, losses": lambda: span([100 * (1 - noisy / clean) for _, clean, noisy in stopped()], 0),
    "stopped early, error by depth": lambda: _stopped_errors(0),
    "stopped early, error by accuracy": lambda: _stopped_errors(1),
}

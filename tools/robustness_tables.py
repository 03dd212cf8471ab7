"""Tables and numbers about robustness, from the records in results/runs."""

import json
from collections.abc import Callable
from functools import cache
from math import floor
from statistics import mean

from tools.law_tables import PREDICTIONS, rms
from tools.markdown_tables import benchmark, span, table
from tools.run_tables import evidence
from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    MatchedDifference,
    NoisyNetwork,
    explain_loss,
    fit_noise_law,
    match,
    matched_difference,
    noisy_networks,
)

GAUSSIAN = "Gaussian 0.04"
LAWS = ("parts", "root_condition", "constant")


@cache
def networks() -> tuple[NoisyNetwork, ...]:
    return tuple(noisy_networks(evidence()))


def explained_losses() -> str:
    """List, per noise, what explains the relative loss: either alone, and the root condition beside depth."""
    rows = []
    for noise in NOISES:
        depth, roots = (explain_loss(networks(), noise, [by]) for by in (DEPTH, ROOTS))
        beside = explain_loss(networks(), noise)[ROOTS]
        parts = [f"{100 * one.explained:.0f} %" for one in (depth, roots)]
        rows.append([noise, *parts, f"{100 * beside.alone:.1f} %", str(beside), f"{beside.p:.2f}"])
    heads = ["Noise", "Explained by depth", "by roots", "Roots beside depth", "Effect of the roots, points", "p"]
    return table(heads, rows)


def matched_networks() -> str:
    """List the difference between networks that are not zero-stable and zero-stable ones that are as good, or deep."""
    pairs = {by: match(networks(), by) for by in ("clean accuracy", "predicted depth")}
    rows = [["clean", *(_words([one.clean_difference for one in found]) for found in pairs.values())]]
    for noise in NOISES:
        rows.append([noise, *(_words([one.difference(noise) for one in found]) for found in pairs.values())])
    heads = ["Noise", *(f"Equal {by} ({len(found)} networks)" for by, found in pairs.items())]
    return table(heads, rows)


def noise_laws() -> str:
    """List the constants of the law per noise, and its errors beside those of the root condition and a constant."""
    rows = []
    for noise in NOISES:
        law = fit_noise_law(networks(), noise)
        errors = [f"{law.left_out[name]:.1f}" for name in ("parts", "root_condition", "constant")]
        rows.append([noise, f"{law.a:.1f}", f"{law.p:.3f}", *errors])
    return table(["Noise", "$a$, %", "$p$", "Error, points", "Root condition", "A constant"], rows)


def registered_noise() -> str:
    """List the errors of what was registered before training, per noise, over the runs that have been measured."""
    errors: dict[str, dict[str, list[float]]] = {noise: {law: [] for law in LAWS} for noise in NOISES}
    listed = measured = 0
    for path in sorted(PREDICTIONS.glob("noise*.json")):
        for one in json.loads(path.read_text(encoding="utf-8"))["predictions"]:
            listed += 1
            run = evidence().sound.get(one["run"])
            result = None if run is None else run.attack("paper-noise")
            if result is None:
                continue
            measured += 1
            accuracies = {row.label: 100 * row.accuracy for row in result.rows}
            for noise in NOISES:
                for law in LAWS:
                    errors[noise][law].append(one["predicted_accuracy"][noise][law] - accuracies[noise])
    if not measured:
        return f"None of the {listed} runs has been measured."
    rows = [[noise, *(f"{rms(errors[noise][law]):.1f}" for law in LAWS)] for noise in NOISES]
    heads = [
        f"Noise ({measured} of {listed} runs measured)",
        "Error of the law, points",
        "Root condition",
        "A constant",
    ]
    return table(heads, rows)


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


def _matched(noise: str, by: str) -> MatchedDifference:
    found = matched_difference([one.difference(noise) for one in match(networks(), by)])
    assert found is not None
    return found


def _raw(noise: str = GAUSSIAN) -> float:
    """Return the difference of the means: networks that are not zero-stable, less the others."""
    others, stable = ([one.noisy[noise] for one in networks() if one.zero_stable is side] for side in (False, True))
    return mean(others) - mean(stable)


def _errors(law: str) -> str:
    return span([fit_noise_law(networks(), noise).left_out[law] for noise in NOISES], 1)


TABLES: dict[str, Callable[[], str]] = {
    "noise, explained": explained_losses,
    "noise, matched": matched_networks,
    "noise, law": noise_laws,
    "noise, registered": registered_noise,
    "corruptions, agreement": agreement,
}
VALUES: dict[str, Callable[[], str]] = {
    "corruptions, images": lambda: str(benchmark("corruptions")["images"]),
    "noise, raw": lambda: f"{_raw():+.1f}",
    "noise networks": lambda: str(len(networks())),
    "noise law errors": lambda: _errors("parts"),
    "noise root errors": lambda: _errors("root_condition"),
    "noise, equal accuracy": lambda: str(_matched(GAUSSIAN, "clean accuracy")),
    "noise, equal depth": lambda: str(_matched(GAUSSIAN, "predicted depth")),
    "noise, by depth": lambda: f"{100 * explain_loss(networks(), GAUSSIAN, [DEPTH]).explained:.0f}",
    "noise, by roots": lambda: f"{100 * explain_loss(networks(), GAUSSIAN)[ROOTS].alone:.0f}",
}

"""Tables of residual wirings on mosaics, from the records in results/mosaic-wirings: predicted beside measured."""

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from statistics import mean, stdev
from typing import Any

from tools.markdown_tables import span, table
from tools.mosaic_wirings import EQUAL, HERE, LAYERS, NAMES, REFERENCE
from zerosnet.experiments.statistics import welch

NOISE = "Gaussian 0.04"
Runs = list[dict[str, Any]]


@cache
def predicted() -> dict[str, dict[str, Any]]:
    found = json.loads((HERE / "predictions.json").read_text())["predictions"]
    return {one["model"]: one for one in found}


@cache
def measured() -> dict[str, Runs]:
    """List the runs of every model, a run per seed."""
    found: dict[str, Runs] = {}
    for run in json.loads((HERE / "runs.json").read_text())["runs"]:
        found.setdefault(run["model"], []).append(run)
    return found


def accuracies(model: str) -> list[float]:
    return [100 * run["test_accuracy"] for run in measured()[model]]


def difference(name: str, layers: int) -> float:
    """Subtract the mean accuracy of Euler's scheme from that of a wiring, in points."""
    return mean(accuracies(name.format(layers))) - mean(accuracies(REFERENCE.format(layers)))


def networks(layers: int) -> str:
    """List the wirings of a depth: what was predicted, and what came."""
    rows = []
    for name, words in NAMES.items():
        model = name.format(layers)
        one, runs, values = predicted()[model], measured()[model], accuracies(model)
        noisy = [100 * run["noisy"][NOISE] for run in runs]
        rows.append(
            [
                words,
                f"{mean(values):.1f} ± {stdev(values):.1f}",
                f"{mean(noisy):.1f}",
                f"{one['effective_depth']:.1f}",
                f"{mean(run['effective_depth'] for run in runs):.1f}",
                f"{one['survivors']} of {one['blocks']}",
                span([run["alive"] for run in runs], 0),
                span([run["used_blocks"] for run in runs], 0),
            ]
        )
    heads = ["Wiring", "Accuracy, %", f"{NOISE}, %", "Effective depth, predicted", "measured"]
    return table([*heads, "Survive, predicted", "alive", "Used depth"], rows)


def trained(layers: int) -> str:
    """List the wirings whose coefficients are trained: whether they left the zero-stable set, and what that did."""
    rows = []
    for name, words in NAMES.items():
        runs = measured()[name.format(layers)]
        if "trained" not in runs[0]:
            continue
        ends = [run["trained"] for run in runs]
        rows.append(
            [
                words,
                f"{span([end['outside'] for end in ends], 0)} of {predicted()[name.format(layers)]['blocks']}",
                f"{max(end['largest_modulus'] for end in ends):.2f}",
                span([end["growth"] for end in ends], 1),
                f"{predicted()[name.format(layers)]['effective_depth']:.1f}",
                span([end["effective_depth"] for end in ends], 1),
            ]
        )
    heads = ["Wiring", "Blocks outside", "Largest modulus", "Growth of products", "Depth by coefficients, at the start"]
    return table([*heads, "after training"], rows)


def right(law: str) -> str:
    """Count the wirings of which a law predicted rightly whether they are as accurate as Euler's, within two points.

    A wiring that is more accurate than that was predicted by none.
    """
    found = []
    for layers in LAYERS:
        for name in NAMES:
            if name != REFERENCE:
                equal = predicted()[name.format(layers)]["as_accurate_as_euler"][law]
                gap = difference(name, layers)
                found.append(abs(gap) <= EQUAL if equal else gap < -EQUAL)
    return f"{sum(found)} of {len(found)}"


def verdict(values: list[float], reference: list[float]) -> bool | None:
    """Decide if a wiring is as accurate as the reference, within two points, by the 95 % interval of the difference.

    Returns:
        None if the interval holds both.
    """
    found = welch(values, reference)
    assert found is not None
    if found.low > -EQUAL and found.high < EQUAL:
        return True
    return False if found.high < -EQUAL or found.low > EQUAL else None


def decided(depths: Sequence[int] = LAYERS) -> dict[str, bool]:
    """Collect the models whose seeds decide if they are as accurate as Euler's scheme."""
    models = [(name.format(n), REFERENCE.format(n)) for n in depths for name in NAMES if name != REFERENCE]
    found = {model: verdict(accuracies(model), accuracies(reference)) for model, reference in models}
    return {model: equal for model, equal in found.items() if equal is not None}


def right_if_decided(law: str) -> str:
    """Count the decided comparisons that a law predicted rightly."""
    return str(sum(predicted()[model]["as_accurate_as_euler"][law] == equal for model, equal in decided().items()))


def gained(name: str) -> str:
    """Write how much more accurate than Euler's scheme a wiring is at 20 and at 56 layers, with 95 % intervals."""
    found = (welch(accuracies(name.format(n)), accuracies(REFERENCE.format(n))) for n in (20, 56))
    return " and ".join(f"{one.mean:.1f} ({one.low:.1f} to {one.high:.1f})" for one in found if one is not None)


TABLES: dict[str, Callable[[], str]] = {
    **{f"mosaic wirings, {layers}": partial(networks, layers) for layers in LAYERS},
    **{f"mosaic wirings, trained, {layers}": partial(trained, layers) for layers in (56, 110)},
}
VALUES: dict[str, Callable[[], str]] = {
    "mosaic wirings, free streams, worst": lambda: f"{min(accuracies('streams110')):.0f}",
    **{f"mosaic wirings, right by {law}": partial(right, law) for law in ("survivors", "root_condition")},
    **{f"mosaic wirings, decided by {law}": partial(right_if_decided, law) for law in ("survivors", "root_condition")},
    "mosaic wirings, decided": lambda: str(len(decided())),
    "mosaic wirings, decided, 110": lambda: str(len(decided([110]))),
    "mosaic wirings, gained": partial(gained, "preresnet{}_gains"),
}

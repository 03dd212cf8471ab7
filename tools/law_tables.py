"""Tables and numbers about the accuracy law: its constants, its errors, and what was predicted before training."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from math import exp
from statistics import mean

from tools import later_sentences, later_tables
from tools.fit_law import read_points
from tools.later_tables import rms
from tools.markdown_tables import ROOT, span, table
from zerosnet.experiments import parasitic_modulus, spearman
from zerosnet.numerics import (
    PAPER_ROWS,
    FittedNetwork,
    Scheme,
    forecast,
    is_zero_stable,
    load_law,
)
from zerosnet.training import RunSpec

PREDICTIONS = ROOT / "results/predictions"
GROUPS = {"sign-pairs": "sign pairs", "random-schemes": "random schemes"}
REGISTERED = {
    "effective_parameters": "shares",
    "contributions": "weights in the head",
    "count": "blocks with a share of 10 %",
    "root_condition": "root condition",
    "modulus": "largest parasitic modulus",
    "constant": "a constant",
}


@cache
def registered() -> list[dict]:
    """Read what was predicted before training, with what was measured."""
    later = json.loads((PREDICTIONS / "contributions.json").read_text())["predictions"]
    weights = {one["run"]: one["predicted_accuracy"]["contributions, best"] for one in later}
    found = []
    for file in GROUPS:
        for one in json.loads((PREDICTIONS / f"{file}.json").read_text())["predictions"]:
            result = json.loads((ROOT / "results/runs" / one["run"] / "result.json").read_text())
            predicted = {**one["predicted_accuracy"], "contributions": weights[one["run"]]}
            found.append({**one, "group": file, "predicted": predicted, "best": 100 * result["best_test_accuracy"]})
    return found


def by_scheme(group: str) -> list[dict]:
    """Join the seeds of a scheme."""
    schemes: dict[str, list[dict]] = {}
    for one in registered():
        if one["group"] == group:
            schemes.setdefault(one["scheme"], []).append(one)
    return [{**seeds[0], "best": mean(one["best"] for one in seeds)} for seeds in schemes.values()]


def registered_errors() -> str:
    """List the errors of the laws whose predictions were registered, per group."""
    rows = []
    for key, name in REGISTERED.items():
        errors = {group: [one["predicted"][key] - one["best"] for one in by_scheme(group)] for group in GROUPS}
        cells = [f"{rms(errors[group]):.2f}" for group in GROUPS]
        largest = max(abs(error) for group in GROUPS for error in errors[group])
        rows.append([name, *cells, f"{largest:.1f}"])
    heads = ["Law", *(f"{name}, {len(by_scheme(group))} schemes" for group, name in GROUPS.items()), "Largest miss"]
    return table(heads, rows)


def predicted_in_short() -> str:
    """List, per group, the errors of the newest law registered before training beside those of simple rules."""
    rows = []
    for group, name in GROUPS.items():
        found = by_scheme(group)
        misses = {law: [one["predicted"][law] - one["best"] for one in found] for law in REGISTERED}
        errors = [f"{rms(misses[law]):.2f}" for law in ("effective_parameters", "root_condition", "constant")]
        rows.append([name, str(len(found)), *errors, f"{max(misses['effective_parameters'], key=abs):+.1f}"])
    heads = ["Networks", "Number", "Law", "Root condition", "A constant", "Largest miss of the law"]
    rows += [group.row(("parts", "root_condition", "constant")) for group in later_tables.all_groups()]
    return table(heads, rows)


def registered_networks() -> str:
    """List every scheme with a registered prediction: the law of shares, the present law, and what was measured."""
    rows = []
    for group in GROUPS:
        for one in sorted(by_scheme(group), key=lambda one: one["best"]):
            today = _network(one["scheme"]).left_out
            stable = "yes" if one["zero_stable"] else "no"
            cells = [f"{value:.1f}" for value in (one["predicted"]["effective_parameters"], today, one["best"])]
            rows.append([f"`{_short(one['scheme'])}`", stable, f"{one['parasitic_modulus']:.2f}", *cells])
    heads = ["Scheme", "Zero-stable", "Parasitic modulus", "Predicted, shares", "Left out, parts", "Measured"]
    return table(heads, rows)


def kinds() -> str:
    """List which kinds of networks the law was fitted on, and how many of each."""
    counts: dict[str, int] = {}
    for one in load_law().networks:
        kind = (
            "one scheme in all blocks"
            if one.plain
            else "a scheme per block, or f switched off"
            if one.block_schemes
            else "restart at stage changes"
            if one.stage_change == "restart"
            else "betas that grow or shrink"
        )
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{kind} ({count})" for kind, count in counts.items())


@cache
def noise_ranks(noise: str = "Gaussian 0.04") -> dict[str, float]:
    """Rank correlations of accuracy under noise, over all schemes of 56 layers, with what may explain it."""
    schemes: dict[str, list[float]] = {}
    for path in sorted((ROOT / "results/runs").glob("zerosnet56*-cifar10-paper-*/attacks/paper-noise.json")):
        spec = RunSpec.from_json(json.loads((path.parents[1] / "spec.json").read_text()))
        if spec.rewired or spec.changes or spec.precision is not None:
            continue
        scheme = spec.scheme or Scheme.parse("zerosnet(-9/5)")
        rows = {row["label"]: row["accuracy"] for row in json.loads(path.read_text())["rows"]}
        schemes.setdefault(str(scheme), []).append(100 * rows[noise])
    noisy = [mean(values) for values in schemes.values()]
    known = [Scheme.parse(text) for text in schemes]
    measures = {
        "depth": [forecast(scheme).effective_parameters for scheme in known],
        "stability": [float(bool(is_zero_stable(scheme))) for scheme in known],
        "modulus": [-parasitic_modulus(scheme) for scheme in known],
    }
    ranks = {name: spearman(values, noisy) for name, values in measures.items()}
    return {**{name: rank.rho for name, rank in ranks.items() if rank is not None}, "schemes": len(known)}


def mnist_rank() -> float:
    """Rank correlation of effective parameters and accuracy on MNIST."""
    points = read_points("best", "mnist", "mnist-fgsm")
    found = spearman([load_law().quantity(point.wiring) for point in points], [point.accuracy for point in points])
    return float("nan") if found is None else found.rho


def _deep(zero_stable: bool, schemes: Sequence[Scheme] | None = None) -> list[float]:
    """List the accuracies of 56 layers by stability, of all schemes or of some."""
    found = []
    for network in load_law().networks:
        scheme = Scheme.parse(network.scheme)
        wanted = network.blocks == (9, 9, 9) and (schemes is None or scheme in schemes)
        if network.plain and wanted and bool(is_zero_stable(scheme)) == zero_stable:
            found.append(network.accuracy)
    return found


def _near(near: bool) -> list[FittedNetwork]:
    return [one for one in load_law().networks if one.near is near]


def _network(scheme: str) -> FittedNetwork:
    return next(network for network in load_law().networks if network.plain and network.scheme == scheme)


def _worst() -> FittedNetwork:
    return max(load_law().networks, key=lambda network: abs(network.left_out - network.accuracy))


def designs() -> str:
    """List the most effective depth by layers, from the record of `tools/depth_designs.py`."""
    rows = []
    for one in json.loads((ROOT / "results/depth-designs.json").read_text())["rows"]:
        cells = [f"{best['value']:.1f} ({best['parasitic_modulus']:.2f})" for best in one["designs"]]
        rows.append([str(one["layers"]), str(one["blocks"]), f"{one['euler']:.1f}", f"{one['optimum']:.1f}", *cells])
    heads = ["Layers", "Blocks", "Euler", "optimum", "2 steps", "3 steps", "3 steps, order 2", "4 steps"]
    return table(heads, rows)


def _short(text: str) -> str:
    """Write a scheme with rounded decimals if its fractions are long."""
    if len(text) <= 24:
        return text
    scheme = Scheme.parse(text)
    return ";".join(",".join(f"{float(c):.4g}" for c in group) for group in (scheme.alphas, scheme.betas))


TABLES: dict[str, Callable[[], str]] = {
    "law, registered errors": registered_errors,
    "law, registered networks": registered_networks,
    "law, predicted in short": predicted_in_short,
    "law, predicted later": later_tables.errors,
    "law, networks predicted later": later_tables.networks,
    "law, designs": designs,
}
VALUES: dict[str, Callable[[], str]] = {
    **later_sentences.VALUES,
    "first laws, networks": lambda: str(sum(len(by_scheme(group)) for group in GROUPS)),
    "law a": lambda: f"{load_law().a:.1f}",
    "law tau": lambda: f"{load_law().tau:.5f}",
    "law p": lambda: f"{load_law().p:.3f}",
    "mnist rank": lambda: f"{mnist_rank():.2f}",
    "law floor": lambda: f"{load_law().floor:.1f}",
    "law error, last epoch": lambda: f"{load_law(epoch='last').rmse:.2f}",
    "law a, last epoch": lambda: f"{load_law(epoch='last').a:.1f}",
    "law p, last epoch": lambda: f"{load_law(epoch='last').p:.3f}",
    "law error, clear": lambda: f"{load_law().rmse_of(_near(False)):.2f}",
    "law error, near": lambda: f"{load_law().rmse_of(_near(True)):.2f}",
    "law networks, clear": lambda: str(len(_near(False))),
    "law networks, near": lambda: str(len(_near(True))),
    "law networks": lambda: str(len(load_law().networks)),
    "law networks, one seed": lambda: str(sum(network.runs == 1 for network in load_law().networks)),
    "law runs": lambda: str(sum(network.runs for network in load_law().networks)),
    "noise rank, depth": lambda: f"{noise_ranks()['depth']:.2f}",
    "noise rank, stability": lambda: f"{noise_ranks()['stability']:.2f}",
    "noise schemes": lambda: str(noise_ranks()["schemes"]),
    "ten rows, zero-stable": lambda: span(_deep(True, [row.scheme for row in PAPER_ROWS]), 1),
    "ten rows, others": lambda: span(_deep(False, [row.scheme for row in PAPER_ROWS]), 1),
    "roots +0.6": lambda: f"{_network('11/5,-39/25,9/25;4/25').accuracy:.1f}",
    "roots -0.6": lambda: f"{_network('-1/5,21/25,9/25;64/25').accuracy:.1f}",
    "best that is not zero-stable": lambda: f"{max(_deep(False)):.1f}",
    "largest miss, predicted": lambda: f"{_worst().left_out:.1f}",
    "largest miss, measured": lambda: f"{_worst().accuracy:.1f}",
    "largest miss, network": lambda: f"`{_worst().label}`",
    "law kinds": kinds,
    "law waiting": later_tables.waiting,
    "law interval": lambda: f"{100 * (exp(load_law().log_halfwidth) - 1):.0f}",
}

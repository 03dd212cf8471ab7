"""Tables and numbers about the accuracy law: its constants, its errors, and what was predicted before training."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log, sqrt
from statistics import mean

import numpy as np

from tools.fit_law import read_points
from tools.markdown_tables import ROOT, span, table
from zerosnet.experiments import parasitic_modulus, spearman
from zerosnet.numerics import PAPER_ROWS, FittedNetwork, Scheme, forecast, is_zero_stable, load_law

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


LATER = {
    "block-schemes": "schemes per block",
    "block-schemes-control": "initial weights that grow",
    "ten-rows": "ten rows, 32 and 44 layers",
    "depth": "f switched off, restart, equal depth",
    "alpha-and-k": "alpha and k",
    "recipes": "other rates and decay",
    "adam": "Adam",
    "plain-torch": "state in float32",
    "layers-110": "110 layers",
    "best-designs": "best designs",
}
"""Files whose networks were predicted by the law of parts before training, without and with a floor."""

LATER_LAWS = {
    "with floor": "parts, with floor",
    "parts": "parts, without floor",
    "shares": "shares",
    "count": "blocks with a share of 10 %",
    "root_condition": "root condition",
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


def rms(values: Sequence[float]) -> float:
    return sqrt(mean(value * value for value in values))


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


def registered_networks() -> str:
    """List every scheme with a registered prediction: the law of shares, the law of today, and what was measured."""
    rows = []
    for group in GROUPS:
        for one in sorted(by_scheme(group), key=lambda one: one["best"]):
            today = _network(one["scheme"]).left_out
            stable = "yes" if one["zero_stable"] else "no"
            cells = [f"{value:.1f}" for value in (one["predicted"]["effective_parameters"], today, one["best"])]
            rows.append([f"`{_short(one['scheme'])}`", stable, f"{one['parasitic_modulus']:.2f}", *cells])
    heads = ["Scheme", "Zero-stable", "Parasitic modulus", "Predicted, shares", "Left out, parts", "Measured"]
    return table(heads, rows)


@cache
def later() -> dict[str, list[dict]]:
    """Collect networks that were trained after their prediction by the law of parts, by file: seeds are joined."""
    floor = json.loads((PREDICTIONS / "with-floor.json").read_text())["predictions"]
    with_floor = {one["run"]: one.get("predicted_accuracy", {}) for one in floor}
    groups: dict[str, list[dict]] = {}
    for file in LATER:
        networks: dict[str, list[dict]] = {}
        for one in json.loads((PREDICTIONS / f"{file}.json").read_text())["predictions"]:
            result = ROOT / "results/runs" / one["run"] / "result.json"
            if result.exists() and "parts" in one["predicted_accuracy"] and not _was_trained(one):
                best = 100 * json.loads(result.read_text())["best_test_accuracy"]
                both = {**with_floor[one["run"]], **one["predicted_accuracy"]}
                predicted = {**both, "with floor": with_floor[one["run"]]["parts"]}
                key = json.dumps([one.get(name) for name in _NETWORK])
                networks.setdefault(key, []).append({**one, "predicted": predicted, "best": best})
        if networks:
            found = [{**seeds[0], "best": mean(s["best"] for s in seeds)} for seeds in networks.values()]
            groups[file] = found
    return groups


def _was_trained(one: dict) -> bool:
    """Tell the runs of the designs' sweep that were there before its predictions."""
    return (
        one["model"] in ("zerosnet56_opt", "preresnet56")
        and one["seed"] <= 3
        and one.get("recipe") == {"name": "paper"}
    )


_NETWORK = ("model", "scheme", "block_schemes", "beta_growth", "init_growth", "stage_change", "recipe")


def later_errors() -> str:
    """List the errors of all laws on networks that were trained after their predictions, per group."""
    if not later():
        return "None of them is trained yet."
    rows = []
    for file, networks in later().items():
        errors = {law: [one["predicted"][law] - one["best"] for one in networks] for law in LATER_LAWS}
        rows.append([LATER[file], str(len(networks)), *(f"{rms(misses):.2f}" for misses in errors.values())])
    every = [one for networks in later().values() for one in networks]
    whole = {law: rms([one["predicted"][law] - one["best"] for one in every]) for law in LATER_LAWS}
    rows.append(["**all**", str(len(every)), *(f"{value:.2f}" for value in whole.values())])
    return table(["Networks", "", *LATER_LAWS.values()], rows)


def left_out_errors() -> str:
    """List leave-one-out errors of simple laws and of the three measures, on all networks."""
    networks = load_law().networks
    accuracy = np.array([network.accuracy for network in networks])
    schemes = [Scheme.parse(network.scheme) for network in networks]
    stable = np.array([bool(is_zero_stable(scheme)) for scheme in schemes])
    modulus = np.array([parasitic_modulus(scheme) for scheme in schemes])
    count = np.array([log(max(1, _blocks_above(network))) for network in networks])
    log_errors = np.log(100 - accuracy)

    def left_out(predict: Callable[[np.ndarray, int], float]) -> float:
        index = np.arange(len(networks))
        return rms([predict(index != i, i) - accuracy[i] for i in range(len(networks))])

    def line(x: np.ndarray, y: np.ndarray, others: np.ndarray, i: int) -> float:
        slope, base = np.polyfit(x[others], y[others], 1)
        return float(base + slope * x[i])

    rows: list[tuple[str, str, float]] = [
        ("a constant", "1", left_out(lambda others, i: accuracy[others].mean())),
        ("root condition", "2", left_out(lambda others, i: accuracy[others & (stable == stable[i])].mean())),
        ("largest parasitic modulus", "2", left_out(lambda others, i: line(modulus, accuracy, others, i))),
        ("blocks with a share of 10 %", "2", left_out(lambda o, i: 100 - exp(line(count, log_errors, o, i)))),
        ("shares", "3", load_law("shares").rmse),
        ("weights in the head", "3", load_law("contributions").rmse),
        ("**parts of what the head reads, with a floor**", "4", load_law("parts").rmse),
    ]
    return table(["Law", "Constants", "Error, points"], [[name, n, f"{error:.2f}"] for name, n, error in rows])


@cache
def noise_ranks(noise: str = "Gaussian 0.04") -> dict[str, float]:
    """Rank correlations of accuracy under noise, over all schemes of 56 layers, with what may explain it."""
    schemes: dict[str, list[float]] = {}
    for path in sorted((ROOT / "results/runs").glob("zerosnet56*-cifar10-paper-*/attacks/paper-noise.json")):
        spec = json.loads((path.parents[1] / "spec.json").read_text())
        scheme = Scheme.from_json(spec["scheme"]) if spec["scheme"] else Scheme.parse("zerosnet(-9/5)")
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


def _network(scheme: str) -> FittedNetwork:
    return next(network for network in load_law().networks if network.plain and network.scheme == scheme)


def _worst() -> FittedNetwork:
    return max(load_law().networks, key=lambda network: abs(network.left_out - network.accuracy))


def _blocks_above(network: FittedNetwork) -> int:
    return network.wiring.blocks_above()


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
    "law, left out": left_out_errors,
    "law, predicted later": later_errors,
    "law, designs": designs,
}
VALUES: dict[str, Callable[[], str]] = {
    "law a": lambda: f"{load_law().a:.1f}",
    "law tau": lambda: f"{load_law().tau:.4f}",
    "law p": lambda: f"{load_law().p:.3f}",
    "mnist rank": lambda: f"{mnist_rank():.2f}",
    "law floor": lambda: f"{load_law().floor:.1f}",
    "law error, last epoch": lambda: f"{load_law(epoch='last').rmse:.2f}",
    "law a, last epoch": lambda: f"{load_law(epoch='last').a:.1f}",
    "law p, last epoch": lambda: f"{load_law(epoch='last').p:.3f}",
    "law error": lambda: f"{load_law().rmse:.2f}",
    "law networks": lambda: str(len(load_law().networks)),
    "law runs": lambda: str(sum(network.runs for network in load_law().networks)),
    "noise rank, depth": lambda: f"{noise_ranks()['depth']:.2f}",
    "noise rank, stability": lambda: f"{noise_ranks()['stability']:.2f}",
    "noise schemes": lambda: str(noise_ranks()["schemes"]),
    "ten rows, zero-stable": lambda: span(_deep(True, [row.scheme for row in PAPER_ROWS]), 1),
    "ten rows, others": lambda: span(_deep(False, [row.scheme for row in PAPER_ROWS]), 1),
    "roots +0.6": lambda: f"{_network('11/5,-39/25,9/25;4/25').accuracy:.1f}",
    "roots -0.6": lambda: f"{_network('-1/5,21/25,9/25;64/25').accuracy:.1f}",
    "best that is not zero-stable": lambda: f"{max(_deep(False)):.1f}",
    "worst that is zero-stable": lambda: f"{min(_deep(True)):.1f}",
    "largest miss, predicted": lambda: f"{_worst().left_out:.1f}",
    "largest miss, measured": lambda: f"{_worst().accuracy:.1f}",
    "law interval": lambda: f"{100 * (exp(load_law().log_halfwidth()) - 1):.0f}",
}

"""The sweeps of recipe `screen`: networks whose accuracy is known, and a grid over the disc of roots."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from zerosnet.numerics import from_roots
from zerosnet.training import Store

RUNS = Path(__file__).parents[1] / "results/runs"
COMMON = {"dataset": "cifar10", "recipe": "screen"}
MESH, REACH = Fraction(1, 9), Fraction(6, 5)  # of the map: distance of neighbouring roots, and the largest modulus


def screen_known() -> list[dict[str, Any]]:
    """List the networks of 56 layers with a finished run of recipe `paper`, as it is in the book, on CIFAR-10."""
    records, _ = Store(RUNS).scan()
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        spec = record.spec
        usual = (spec.dataset, spec.recipe.name, spec.precision) == ("cifar10", "paper", None)
        if usual and not spec.changes and not spec.rewired and "56" in spec.model and record.status == "finished":
            network = {"model": spec.model} | ({} if spec.scheme is None else {"scheme": str(spec.scheme)})
            found.setdefault(json.dumps(network), network)
    return [{**network, **COMMON, "seed": seed} for seed in (1, 2) for network in found.values()]


def screen_map() -> list[dict[str, Any]]:
    """List the schemes with roots 1, r and its conjugate for every r of the grid; at r = 1 beta would be 0."""
    steps = range(-int(REACH / MESH), int(REACH / MESH) + 1)
    places = [(x * MESH, y * MESH) for y in steps if y >= 0 for x in steps]
    inside = [(x, y) for x, y in places if x * x + y * y <= REACH**2 and (x, y) != (1, 0)]
    schemes = [str(from_roots([(-2 * x, x * x + y * y)])) for x, y in inside]
    return [{"model": "zerosnet56", "scheme": text, **COMMON, "seed": 1} for text in schemes]

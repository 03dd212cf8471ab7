"""JSON documents of a scheme (growth, region of absolute stability, texts to copy, forecast) and of accuracies.

The analysis of a scheme is `zerosnet.numerics.facts`. Everything in them is finite or null.
"""

import json
import re
import time
from functools import cache
from importlib import resources
from math import floor, log10
from typing import Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.explorer import limits
from zerosnet.explorer.limits import BadParameter
from zerosnet.explorer.query import NamedScheme, Region
from zerosnet.files import finite
from zerosnet.numerics import (
    Forecast,
    Prediction,
    Scheme,
    accuracy_of_pairs,
    boundary_locus,
    forecast,
    load_law,
    log10_envelope,
    measured_pairs,
    root_condition,
    stability_region,
)
from zerosnet.report import region_window

_BOUNDARY_POINTS = 361
_WINDOW_COLUMNS = 64  # enough for a window in coarse steps
_CHUNK = 8_192  # grid points between two looks at the clock
_MAP_REACH = 1.5
_MAP_COLUMNS, _MAP_ROWS = 241, 121
_SIZES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)

Window = tuple[tuple[float, float], tuple[float, float]]


def envelope_document(scheme: Scheme, blocks: int) -> dict[str, Any]:
    """log10 c(k) for k = 0..blocks, null if c is 0; and its largest and last value."""
    logs = log10_envelope(scheme, blocks)
    return {
        "blocks": blocks,
        "log10": [finite(value) for value in logs.tolist()],
        "log10_constant": finite(float(logs.max())),
        "log10_last": finite(float(logs[-1])),
    }


def region_document(scheme: Scheme, query: Region) -> dict[str, Any]:
    """Which points of a grid are absolutely stable, as runs [first, last] of columns for every row, bottom first; and
    the boundary locus, null at infinity.
    """
    (left, right), (bottom, top) = query.window() or calm_window(scheme)
    x, y = np.linspace(left, right, query.nx), np.linspace(bottom, top, query.ny)
    mirrored = query.ny // 2 if bottom == -top else 0  # rows below the axis that need no work: coefficients are real
    runs = _stable_runs(scheme, x, y[mirrored:])
    return {
        "re": [left, right],
        "im": [bottom, top],
        "nx": query.nx,
        "ny": query.ny,
        "runs": runs[: -mirrored - 1 : -1] + runs if mirrored else runs,
        "boundary": [
            [z.real, z.imag] if np.isfinite(z) else None for z in boundary_locus(scheme, _BOUNDARY_POINTS).tolist()
        ],
    }


def _stable_runs(scheme: Scheme, x: np.ndarray, y: np.ndarray) -> list[list[list[int]]]:
    """The stable runs of every row, in pieces, so that the clock is looked at."""
    rows = max(1, _CHUNK // len(x))
    deadline = time.monotonic() + limits.SECONDS
    runs: list[list[list[int]]] = []
    for start in range(0, len(y), rows):
        if time.monotonic() > deadline:
            raise BadParameter("nx", f"nx is {len(x)}, which takes too long here; expected a coarser grid")
        runs += [_runs(row) for row in stability_region(scheme, x, y[start : start + rows])]
    return runs


def copy_document(query: NamedScheme) -> dict[str, str]:
    """The scheme as Python, as a command and as LaTeX."""
    text = query.text()
    return {
        "python": f'from zerosnet.numerics import Scheme, analyze\n\nprint(analyze(Scheme.parse("{text}")))\n',
        "command": f"zerosnet analyze {text}" if text.isalnum() else f"zerosnet analyze '{text}'",
        "latex": query.scheme().to_latex(),
    }


@cache
def accuracies_document() -> dict[str, Any]:
    """Measured and printed accuracies in per cent, each with largest parasitic modulus and effective depth.

    A measured one outside of the predicted interval is an outlier. accuracies.json comes with the package;
    `tools/package_numbers.py` writes it.
    """
    stored = json.loads(resources.files(__package__).joinpath("accuracies.json").read_text(encoding="utf-8"))
    for kind in ("measured", "printed"):
        for entry in stored[kind]:
            scheme = Scheme.parse(entry["scheme"])
            verdict = root_condition(scheme)
            promised = _promised(entry["model"], scheme)
            entry["label"] = scheme.short_name
            entry["parasitic_modulus"] = 1 - verdict.margin
            entry["zero_stable"] = verdict.zero_stable
            entry["effective_depth"] = promised.effective_depth
            entry["outlier"] = kind == "measured" and is_outlier(promised.prediction, entry["accuracy"])
    return stored


def _promised(model: str, scheme: Scheme) -> Forecast:
    """The forecast of a network by its name, such as lmresnet44."""
    layers = int(next(iter(re.findall(r"\d+", model))))
    return forecast(scheme, layers, stage_change="restart" if model.startswith("lmresnet") else "project-each")


def is_outlier(prediction: Prediction, accuracy: float) -> bool:
    """Check if an accuracy lies outside of the predicted interval."""
    return prediction.interval is not None and not prediction.interval[0] <= accuracy <= prediction.interval[1]


def forecast_document(scheme: Scheme, layers: int) -> dict[str, Any]:
    """Compute what `zerosnet predict --json` prints."""
    try:
        return forecast(scheme, layers).to_json()
    except InputError as error:
        raise BadParameter("layers", str(error)) from None


@cache
def map_document() -> dict[str, Any]:
    """Predict accuracy on a grid over the upper half plane of r, bottom row first, and list the measured networks.

    The schemes are the consistent ones with roots 1, r and the conjugate of r, in networks of 56 layers.
    """
    re, im = np.linspace(-_MAP_REACH, _MAP_REACH, _MAP_COLUMNS), np.linspace(0, _MAP_REACH, _MAP_ROWS)
    accuracy = accuracy_of_pairs(re + 1j * im[:, None])
    return {
        "layers": 56,
        "re": [-_MAP_REACH, _MAP_REACH],
        "im": [0.0, _MAP_REACH],
        "accuracy": accuracy.round(2).tolist(),
        "measured": [
            {
                "scheme": one.scheme,
                "root": [r.real, r.imag],
                "accuracy": one.accuracy,
                "runs": one.runs,
                "predicted": one.left_out,
                "outlier": is_outlier(load_law().predict(one.wiring), one.accuracy),
            }
            for r, one in measured_pairs()
        ],
    }


def calm_window(scheme: Scheme) -> Window:
    """The window that fits the region of absolute stability, in coarse steps: it stands still while one drags."""
    (left, right), _ = region_window(scheme, _WINDOW_COLUMNS)
    half = (right - left) / 2
    power = 10.0 ** floor(log10(half))
    half = power * next(size for size in _SIZES if size >= half / power - 1e-9)
    step = half / 4
    centre = step * round((left + right) / 2 / step)
    return (centre - half, centre + half), (-half, half)


def _runs(row: np.ndarray) -> list[list[int]]:
    """The first and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(np.int8)))
    return [[int(first), int(after) - 1] for first, after in zip(edges[::2], edges[1::2])]

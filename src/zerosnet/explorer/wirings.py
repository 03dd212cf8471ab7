"""JSON documents of wirings: shares, gains and likeness of streams over depth, and wirings to start from."""

from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.explorer.wiring_query import FORMS, LAYERS, WiringOf
from zerosnet.files import finite
from zerosnet.numerics import MIXINGS, Wiring, alike_after, effective_depth, heard_from, limit_of, mixing_product

_SHORT = 1.5  # decimal logarithm of the largest entry that is shown as it is

_STREAMS = {"streams": "4", "seed": "1", "write": "all", "read": "turns"}
PRESETS = (
    ("PreResNet, pre-norm transformer", {"form": "constant", "keep": "1", "add": "1"}),
    ("State shrunk, early blocks forgotten", {"form": "constant", "keep": "0.87", "add": "0.5"}),
    ("State grown", {"form": "constant", "keep": "1.2", "add": "1"}),
    ("Branch scaled by 1/√n", {"form": "scaled", "add": "1", "power": "1/2"}),
    ("ReZero, SkipInit after a little training", {"form": "small", "add": "0.1"}),
    ("First state mixed in", {"form": "first-state", "keep": "0.8", "first": "0.2", "add": "1"}),
    ("Hyper-connections, as they start", {"form": "free", **_STREAMS, "spread": "0"}),
    ("Hyper-connections, unconstrained", {"form": "free", **_STREAMS, "spread": "0.3"}),
    ("Rows that add up to 1", {"form": "row-stochastic", **_STREAMS, "spread": "0.3"}),
    ("Rows and columns that add up to 1", {"form": "doubly-stochastic", **_STREAMS, "spread": "0.3"}),
    ("The same, near the identity", {"form": "doubly-stochastic", **_STREAMS, "spread": "0.02"}),
    ("Two streams, averaged", {"form": "matrix", "matrix": "1/2,1/2;1/2,1/2", "write": "1,0", "read": "mean"}),
)
"""Wirings to start from: a title and the query, without the number of blocks."""


def forms_document() -> dict[str, Any]:
    """The forms with their parameters, the layers of networks, and wirings to start from."""
    return {
        "forms": {name: {"title": form.title, "defaults": form.defaults} for name, form in FORMS.items()},
        "layers": [{"layers": layers, "blocks": (layers - 2) // 2} for layers in LAYERS],
        "presets": [{"title": title, "query": query} for title, query in PRESETS],
    }


def wiring_document(of: WiringOf) -> dict[str, Any]:
    """Shares, parts, gains and likeness of the streams over depth, what limits the wiring, and how to make it."""
    wiring = of.wiring()
    weights, gains = wiring.contributions(), wiring.gains()
    streams = len(wiring.read)
    limit = limit_of(wiring)
    product, scale = mixing_product(wiring)
    return {
        "form": of.form,
        "parameters": of.given(),
        "counts": list(wiring.counts),
        "streams": streams,
        "shares": weights[1:, 1:].diagonal().tolist(),
        "parts": (weights[-1, 1:] ** 2).tolist(),
        "stem_part": float(weights[-1, 0] ** 2),
        "effective_depth": float(effective_depth(weights[1:, 1:].diagonal())),
        "blocks_above": wiring.blocks_above(),
        "heard_from": heard_from(len(wiring.steps)),
        "sources": wiring.number_of_sources(),
        "forward": finite(gains.forward_rows.tolist()),
        "backward": finite(gains.backward_columns.tolist()),
        "second": wiring.second_singular_values().tolist() if streams > 1 else None,
        "alike_after": alike_after(wiring),
        "first": wiring.arrays[0][0].tolist(),
        "product": _readable(product, scale),
        "keep": [float(step.A[0][0]) for step in wiring.steps] if streams == 1 else None,
        "add": [float(step.b[0]) for step in wiring.steps] if streams == 1 else None,
        "limit": {"kind": limit.kind, "sentence": limit.sentence},
        "copy": {"python": python_of(of, wiring)},
    }


def _readable(product: npt.NDArray[np.float64], scale: float) -> dict[str, Any]:
    """The product, its scale in the entries if they stay short, and apart otherwise."""
    if abs(scale) < _SHORT:
        return {"rows": (product * 10**scale).tolist(), "log10": 0}
    return {"rows": product.tolist(), "log10": finite(scale)}


def python_of(of: WiringOf, wiring: Wiring) -> str:
    """A program that makes the same wiring."""
    given, counts = of.given(), of.counts()
    N, m = sum(counts), len(wiring.read)
    stages = f"blocks={counts}, projection='each'" if len(counts) > 1 else f"blocks={N}"
    imports, lines = "Wiring, limit_of", [f"N = {N}"]
    if of.form in MIXINGS:
        imports = "Wiring, draw_mixing, limit_of"
        lines.append(f'A = draw_mixing("{of.form}", {m}, N, "{given["spread"]}", seed={int(given["seed"])})')
    elif of.form == "scaled":
        power = f"(n + 1) ** -{_float(given['power'])}"
        lines += ["A = [[[1]]] * N", f"b = [[{_float(given['add'])} * {power}] for n in range(N)]"]
    elif of.form == "lists":
        lines += [f"A = {_listed([[[step.A[0][0]]] for step in wiring.steps])}",
                  f"b = {_listed([[step.b[0]] for step in wiring.steps])}"]  # fmt: skip
    else:
        lines.append(f"A = [{_quoted(wiring.steps[0].A)}] * N")
    lines += _vectors(given, wiring, m, with_b=of.form not in ("scaled", "lists"))
    lines += [
        f"wiring = Wiring.of_matrices(A, b, c, {_quoted(wiring.read)}, {stages})",
        "print(wiring.effective_depth(), limit_of(wiring).sentence)",
    ]
    return f"from zerosnet.numerics import {imports}\n\n" + "\n".join(lines) + "\n"


def _vectors(given: dict[str, str], wiring: Wiring, m: int, with_b: bool) -> list[str]:
    turns = f"[[int(i == n % {m}) for i in range({m})] for n in range(N)]"
    step = wiring.steps[0]
    b = turns if given.get("write") == "turns" else f"[{_quoted(step.b)}] * N"
    c = turns if given.get("read") == "turns" else f"[{_quoted(step.c)}] * N"
    return [*([f"b = {b}"] if with_b else []), f"c = {c}"]


def _quoted(values: Any) -> str:
    """Numbers as Python, fractions as text so that they stay exact."""
    if isinstance(values, tuple | list):
        return f"[{', '.join(_quoted(value) for value in values)}]"
    if isinstance(values, float):
        return repr(values)
    return str(values) if values.denominator == 1 else f'"{values}"'


def _listed(values: list[Any]) -> str:
    """A list with the last value once, and how often it goes on."""
    same = next((k for k, value in enumerate(reversed(values)) if value != values[-1]), len(values))
    head = values[: len(values) - same]
    tail = f"[{_quoted(values[-1])}] * {same}"
    return f"{_quoted(head)} + {tail}" if head else tail


def _float(text: str) -> str:
    top, _, bottom = text.partition("/")
    return repr(float(top) / float(bottom or 1))

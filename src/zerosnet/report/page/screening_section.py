"""Networks that were screened: a map of accuracy over the disc of roots, measured beside predicted, and the ranks."""

from collections.abc import Sequence

import numpy as np

from zerosnet.errors import InputError
from zerosnet.experiments import (
    Evidence,
    Screened,
    ScreenSetting,
    agreement,
    disc_ranks,
    screen_settings,
    screened_networks,
    screened_pairs,
)
from zerosnet.numerics import accuracy_of_pairs, depth_of_pairs, forecast
from zerosnet.report.figures.screening import LEAST, mesh_of, on_grid
from zerosnet.report.page.html import Html, element, join, signed

RECIPE = "screen"
_WIDTH, _HEIGHT, _EDGE = 372, 214, 16
_BAR = 120  # width of the colour bar
_MIDDLE = {"text_anchor": "middle"}
_CALIBRATED = "cifar10"  # the data set of the law
_VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


def screening_section(evidence: Evidence) -> list[Html]:
    """The screened networks of every setting, with a map if enough of them have a pair of roots."""
    parts: list[Html] = []
    settings, unusual = screen_settings(evidence)
    for setting in settings:
        networks = screened_networks(evidence, *setting)
        pairs = screened_pairs(networks)
        parts.append(element("p", signed(_words(setting, networks, len(pairs)))))
        if len(pairs) >= LEAST:
            parts += _maps(pairs, setting.dataset, setting.layers)
    if unusual:
        words = f"Not compared: {unusual} of another precision or wiring, or with images held out."
        parts.append(element("p", words, class_="small muted"))
    return parts


def _words(setting: ScreenSetting, networks: Sequence[Screened], pairs: int) -> str:
    """Write how many networks there are, how many are on the map, and how well ranks agree with whole trainings."""
    screened = sum(bool(one.short) for one in networks)
    named = f"recipe {RECIPE}" + (f" ({setting.changes})" if setting.changes else "")
    noun = "network" if screened == 1 else "networks"
    words = (
        f"{screened} {noun} of {setting.layers} layers ({setting.dataset}), trained for a few epochs by {named}. "
        f"Of these, {pairs} with a consistent scheme of three steps and one pair of parasitic roots"
    )
    words += "." if pairs >= LEAST else f"; a map needs {LEAST}."
    known = agreement(networks).both
    if known is None:
        return words
    return f"{words} Rank correlation with the whole training, over the {known.n} that have both: {known.rho:+.2f}."


def _maps(pairs: Sequence[tuple[complex, float]], dataset: str, layers: int) -> list[Html]:
    """Maps of what was measured, and of what is known before training for this depth and data set."""
    roots, measured = [root for root, _ in pairs], [value for _, value in pairs]
    maps, words = [_map("Measured after screening", roots, measured, " %")], ""
    counts, on_cifar10 = _blocks(layers), dataset == _CALIBRATED
    if counts is not None:
        found = disc_ranks(pairs, layers, law=on_cifar10)
        known = {name: one for name, one in found.items() if one is not None}
        ranks = ", ".join(f"{name} {one.rho:+.2f}" for name, one in known.items())
        count = max((one.n for one in known.values()), default=0)
        words = (
            f"Rank correlations with what is known before training, over {count} networks: {ranks}. " if ranks else ""
        )
        depths = depth_of_pairs(roots, counts).tolist()
        maps.append(_map("Effective depth, from the coefficients", roots, depths, ""))
        if on_cifar10:
            predicted = accuracy_of_pairs(roots, counts).tolist()
            maps.append(_map("Accuracy by the law, recipe paper", roots, predicted, " %"))
    words += (
        "Every network is at the place of its pair, in the upper half of the unit disc; a ring is one off the grid. "
    )
    words += "Only the order of accuracies counts, and each map has colours of its own."
    return [element("p", signed(words)), element("div", maps, class_="charts")]


def _blocks(layers: int) -> tuple[int, ...] | None:
    """Count the blocks of every stage; None for networks of ImageNet's size, whose depth is not predicted."""
    try:
        return forecast("euler()", layers).wiring.counts
    except InputError:
        return None


def _map(title: str, roots: Sequence[complex], values: Sequence[float], suffix: str) -> Html:
    """Draw the upper half of the disc: a cell for a root on the grid, a dot for another one."""
    places, side = np.array(roots, dtype=np.complex128), mesh_of(list(zip(roots, values)))
    reach = float(np.abs(places.real).max()) + side / 2
    top = max(float(places.imag.max()) + side / 2, 1.05)
    unit = min((_WIDTH - 2 * _EDGE) / (2 * max(reach, 1.05)), (_HEIGHT - _EDGE - 34) / (top + side / 2))
    middle, floor = _WIDTH / 2, 4 + unit * top
    low, high = min(values), max(values)
    cells, dots = [], []
    for root, value, squared in zip(roots, values, on_grid(places / side)):
        colour = _colour((value - low) / (high - low or 1))
        x, y = middle + unit * root.real, floor - unit * root.imag
        words = element("title", signed(f"{root.real:.2f} {root.imag:+.2f} i: {value:.1f}{suffix}"))
        if squared:
            half = unit * side / 2 + 0.2  # no seams between cells
            box = {
                "x": f"{x - half:.1f}",
                "y": f"{y - half:.1f}",
                "width": f"{2 * half:.1f}",
                "height": f"{2 * half:.1f}",
            }
            cells.append(element("rect", words, **box, fill=colour))
        else:
            dots.append(element("circle", words, cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, fill=colour, stroke="white"))
    ends = f"M{middle - unit:.1f} {floor:.1f}A{unit:.1f} {unit:.1f} 0 0 1 {middle + unit:.1f} {floor:.1f}"
    ticks = [
        element(
            "text", signed(str(at)), x=f"{middle + unit * at:.1f}", y=f"{floor + unit * side / 2 + 11:.1f}", **_MIDDLE
        )
        for at in (-1, 0, 1)
    ]
    parts = [cells, dots, element("path", d=ends, class_="o"), *ticks, *_colour_bar(low, high, suffix)]
    label = f"{title}: from {low:.1f} to {high:.1f}{suffix} over the upper half of the unit disc"
    drawn = element("svg", parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label, class_="plot")
    return element("figure", element("figcaption", title), drawn, class_="chart")


def _colour(part: float) -> str:
    """Return a colour between dark (0) and bright (1)."""
    place = part * (len(_VIRIDIS) - 1)
    first = min(int(place), len(_VIRIDIS) - 2)
    low, high = _VIRIDIS[first : first + 2]
    return "#" + "".join(f"{round(a + (b - a) * (place - first)):02x}" for a, b in zip(low, high))


def _colour_bar(low: float, high: float, suffix: str) -> list[Html]:
    """Draw what the colours mean, below the map."""
    left, top, step = (_WIDTH - _BAR) / 2, _HEIGHT - 16, _BAR / 24
    boxes = join(
        element("rect", x=f"{left + n * step:.1f}", y=top, width=f"{step + 0.3:.1f}", height=8, fill=_colour(n / 23))
        for n in range(24)
    )
    ends = ((left - 6, "end", low), (left + _BAR + 6, "start", high))
    return [boxes] + [
        element("text", f"{value:.1f}{suffix}", x=f"{x:.1f}", y=top + 8, text_anchor=anchor)
        for x, anchor, value in ends
    ]

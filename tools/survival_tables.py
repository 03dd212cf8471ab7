"""Numbers about blocks that survive training: the threshold, where it is wrong, and small betas."""

import json
from collections.abc import Callable
from functools import cache
from math import inf

from tools.fit_law import trained_blocks
from tools.markdown_tables import ROOT
from zerosnet.numerics import Scheme, load_law
from zerosnet.numerics.wirings.survival import BAND

REGISTERED = ROOT / "results/predictions/threshold-betas.json"
"""What was predicted for networks that were chosen close to the threshold."""


@cache
def _judged(close: bool) -> str:
    """Count the blocks that the threshold misjudges, far from it or within the band around it."""
    found, least = trained_blocks(), load_law().survival.least
    chosen = [
        (start >= least) != alive
        for start, alive in zip(found.start, found.alive)
        if (least / BAND < start < least * BAND) is close
    ]
    return f"{sum(chosen)} of {len(chosen):,}"


def _judged_before() -> str:
    """Count the blocks of the networks that were predicted at the threshold, by the threshold of that day."""
    file = json.loads(REGISTERED.read_text())
    least = file["laws"]["parts"]["survival"]["least"]
    found = trained_blocks(only=[one["run"] for one in file["predictions"]])
    wrong = sum((start >= least) != alive for start, alive in zip(found.start, found.alive))
    return f"{wrong} of {len(found.start)}"


def _registered_law(name: str) -> float:
    """Read a fact of the law as it was registered for the networks at the threshold."""
    return float(json.loads(REGISTERED.read_text())["laws"]["parts"][name])


def _shares_from(low: float, high: float = inf) -> str:
    shares = trained_blocks().share
    return f"{100 * sum(low <= share < high for share in shares) / len(shares):.0f}"


def small_betas(alphas: str = "1/3,5/9,1/9", most: float = 0.07) -> str:
    """List the betas below `most` that were trained with these alphas at 56 layers, and the accuracies."""
    alike = [network for network in load_law().networks if network.plain and network.blocks == (9, 9, 9)]
    schemes = [(Scheme.parse(one.scheme), one.accuracy) for one in alike if one.scheme.startswith(f"{alphas};")]
    found = sorted((float(scheme.betas[0]), accuracy) for scheme, accuracy in schemes)
    shown = [(beta, accuracy) for beta, accuracy in found if 0.01 < beta < most]
    betas, accuracies = (", ".join(texts) for texts in zip(*((f"{b:.3f}", f"{a:.1f}") for b, a in shown)))
    return f"{betas} reach {accuracies} %"


VALUES: dict[str, Callable[[], str]] = {
    "survival, threshold": lambda: f"{load_law().survival.least:.3f}",
    "survival, threshold %": lambda: f"{100 * load_law().survival.least:.1f}",
    "survival, blocks": lambda: f"{load_law().survival.blocks:,}",
    "survival, far": lambda: _judged(close=False),
    "survival, close": lambda: _judged(close=True),
    "survival, predicted": _judged_before,
    "survival, large shares %": lambda: _shares_from(0.1),
    "survival, tiny shares %": lambda: _shares_from(0, 0.001),
    "law before the threshold, error": lambda: f"{_registered_law('leave_one_out_rmse'):.2f}",
    "law error": lambda: f"{load_law().rmse:.2f}",
    "small betas, sequence": small_betas,
}

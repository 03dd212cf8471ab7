"""Design by depth: the scheme whose blocks are used most, among those of given steps and order with one slope.

The order conditions are linear in the coefficients, so the schemes of d steps and order p are a space of d - p
dimensions. It is searched by sampling: draw schemes from a normal distribution, keep the best, fit the distribution to
them, repeat, and refine the best one. The draws have a fixed seed, so that the same question has the same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError, did_you_mean
from zerosnet.numerics.designs.search import design
from zerosnet.numerics.display import html_table
from zerosnet.numerics.rationals import number
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.batch import accuracies_of_many, head_contributions_of_many, shares_of_many
from zerosnet.numerics.wirings.gains import stage_gain
from zerosnet.numerics.wirings.measures import HEAD_TAU, effective_depth
from zerosnet.numerics.wirings.stages import BLOCKS, block_counts
from zerosnet.numerics.wirings.step import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STEPS = 6
GROWTHS = (0.5, 2.0)
"""The range in which a free growth of the betas is searched."""

_STARTS, _DRAWS, _KEPT, _ROUNDS = 2, 120, 20, 25
_SPREAD, _INFLATION, _LEAST_STEP = 0.6, 1.5, 1e-7
_CIRCLE = 1e-9  # roundings of a modulus on the bound
_OUTSIDE = -1e9  # what is out of bounds; less, the farther it is


def _by_shares(alphas: Floats, betas: Floats, counts: tuple[int, ...], change: str, growth: npt.ArrayLike) -> Floats:
    return effective_depth(shares_of_many(alphas, betas, counts, change, growth))


def _by_head(alphas: Floats, betas: Floats, counts: tuple[int, ...], change: str, growth: npt.ArrayLike) -> Floats:
    return effective_depth(np.square(head_contributions_of_many(alphas, betas, counts, change, growth)), HEAD_TAU)


OBJECTIVES: dict[str, Callable[..., Floats]] = {"depth": _by_shares, "head": _by_head, "accuracy": accuracies_of_many}
"""Effective depth; the same sum of the parts of what the head reads; accuracy by the law, calibrated or not."""


@dataclass(frozen=True, repr=False)
class DepthDesign:
    """The best scheme found, what it has of the objective, and its price.

    Attributes:
        value: The objective.
        euler: The objective of Euler's scheme with growth 1.
        parasitic_modulus: The largest one.
        stage_gain: What independent projections do to its state.
        growth: The betas are multiplied by growth^n.
    """

    steps: int
    order: int
    blocks: tuple[int, ...]
    objective: str
    scheme: Scheme
    growth: float
    value: float
    euler: float
    parasitic_modulus: float
    stage_gain: float

    def __repr__(self) -> str:
        found = f"{self.objective} {self.value:.2f}, Euler's {self.euler:.2f}"
        return f"DepthDesign({self.steps} steps, order {self.order}: {found})"

    def _repr_latex_(self) -> str:
        return self.scheme._repr_latex_()

    def _repr_html_(self) -> str:
        rows = [
            (
                "scheme",
                "; ".join(", ".join(f"{float(c):.5g}" for c in g) for g in (self.scheme.alphas, self.scheme.betas)),
            ),
            (self.objective, f"{self.value:.2f}; Euler's {self.euler:.2f}"),
            ("largest parasitic modulus", f"{self.parasitic_modulus:.4f}"),
            ("gain at stage changes", f"{self.stage_gain:.3f}"),
            ("growth of beta", f"{self.growth:.4g}"),
        ]
        return html_table(f"{self.steps} steps, order {self.order} or more, by {self.objective}", rows)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the share of every block beside that of Euler's scheme; return the axes."""
        from zerosnet.numerics.plots import plot_depth_design

        return plot_depth_design(self, axes)

    def to_json(self) -> dict[str, Any]:
        """Return what `zerosnet design --objective depth --json` prints."""
        facts = {name: value for name, value in vars(self).items() if name != "scheme"}
        return {**facts, "blocks": list(self.blocks), **self.scheme.to_json()}


def design_by_depth(
    steps: int,
    blocks: Any = BLOCKS,
    order: int = 1,
    *,
    objective: str = "depth",
    modulus: float | None = 1.0,
    gain: float | None = None,
    growth: Any = 1,
    stage_change: str = "project-each",
) -> DepthDesign:
    """The scheme of that many steps and at least that order with the most effective depth in these blocks.

    Args:
        objective: "depth" (effective depth, of shares), "head" (of parts of what the head reads) or "accuracy" (the
            law).
        modulus: Bound of the parasitic moduli; 1 asks for zero stability, None for nothing.
        gain: Bound of the stage gain; None for nothing.
        growth: Factor of beta from block to block; None looks for the best one between 1/2 and 2. Shares always grow
            with it, as the network forgets its early blocks, so that the objective "depth" ends at 2.

    Examples:
        >>> best = design_by_depth(2)
        >>> round(best.value, 1), round(best.euler, 1)
        (22.7, 20.0)
    """
    counts, bound = block_counts(blocks), inf if modulus is None else float(number(modulus, "modulus"))
    if objective not in OBJECTIVES:
        raise InputError(
            f"objective is {objective!r}{did_you_mean(objective, OBJECTIVES)}; expected one of {', '.join(OBJECTIVES)}"
        )
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise InputError(f"steps is {steps!r}; expected a whole number from 1 to {MOST_STEPS}")
    first = design(steps, order).scheme  # refuses an order that is not possible
    most_gain = inf if gain is None else float(number(gain, "gain"))
    free_growth, fixed = growth is None, 1.0 if growth is None else float(number(growth, "growth"))
    base, directions = _space(steps, order)

    def coefficients(points: Floats) -> tuple[Floats, Floats, npt.ArrayLike]:
        found = base + points[:, : len(directions)] @ directions
        return found[:, :-1], found[:, -1], points[:, -1] if free_growth else fixed

    def values(points: Floats) -> Floats:
        alphas, betas, factors = coefficients(points)
        excess = np.zeros(len(points))
        if bound < inf and steps > 1:
            excess += np.maximum(_parasitic_moduli(alphas) - bound - _CIRCLE, 0)
        if most_gain < inf:
            excess += np.maximum(_stage_gains(alphas) - most_gain - _CIRCLE, 0)
        if free_growth:
            excess += np.maximum(GROWTHS[0] - points[:, -1], 0) + np.maximum(points[:, -1] - GROWTHS[1], 0)
        found = OBJECTIVES[objective](alphas, betas, counts, stage_change, factors)
        inside = (excess == 0) & np.isfinite(found)
        return np.where(inside, found, _OUTSIDE - np.minimum(np.nan_to_num(excess, nan=1.0), 1e6))

    middle = np.zeros(len(directions)) if first is None else directions @ (_vector(first) - base)
    best = _search(values, np.append(middle, 1.0) if free_growth else middle)
    alphas, betas, factors = coefficients(best[None])
    value = float(values(best[None])[0])
    if value <= _OUTSIDE:
        bounds = f"modulus is {modulus!r}" + ("" if gain is None else f" and gain is {gain!r}")
        raise InputError(f"{bounds}; no scheme of {steps} steps and order {order} was found within")
    scheme = Scheme(alphas[0].tolist(), [float(betas[0])])
    one = np.ones((1, 1))
    return DepthDesign(
        steps=steps,
        order=order,
        blocks=counts,
        objective=objective,
        scheme=scheme,
        growth=float(np.ravel(factors)[0]),
        value=value,
        euler=float(OBJECTIVES[objective](one, one[0], counts, stage_change, 1.0)[0]),
        parasitic_modulus=float(_parasitic_moduli(alphas)[0]) if steps > 1 else 0.0,
        stage_gain=stage_gain(scheme),
    )


def _space(steps: int, order: int) -> tuple[Floats, Floats]:
    """A point of the space of schemes (alphas, beta) of that order, and an orthonormal basis of its directions."""
    lags = np.arange(steps)
    rows, right = [np.append(np.ones(steps), 0.0)], [1.0]
    for q in range(1, order + 1):
        rows.append(np.append((-1.0 * lags) ** q, float(q == 1)))
        right.append(1.0)
    matrix = np.array(rows)
    point = np.linalg.lstsq(matrix, np.array(right), rcond=None)[0]
    basis = np.linalg.svd(matrix)[2][len(rows) :]
    return point, basis


def _search(values: Callable[[Floats], Floats], middle: Floats) -> Floats:
    """The best point found: sampling about the best points so far, then in smaller and smaller steps about the best."""
    size = len(middle)
    if not size:
        return middle
    random = np.random.default_rng(0)
    best, best_value = middle, float(values(middle[None])[0])
    for _ in range(_STARTS):
        centre, root = middle, _SPREAD * np.eye(size)
        for _ in range(_ROUNDS):
            points = centre + random.standard_normal((_DRAWS, size)) @ root.T
            found = values(points)
            order = np.argsort(-found, kind="stable")[:_KEPT]
            kept = points[order[found[order] > -inf]]
            if len(kept) <= size:
                root = root * 0.7
                continue
            if found[order[0]] > best_value:
                best, best_value = kept[0], float(found[order[0]])
            centre = np.asarray(kept.mean(axis=0), dtype=np.float64)
            covariance = np.atleast_2d(np.cov(kept.T)) * _INFLATION + 1e-16 * np.eye(size)
            root = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    step = 0.1
    while step > _LEAST_STEP:
        points = best + step * random.standard_normal((_DRAWS, size))
        found = values(points)
        winner = int(found.argmax())
        if found[winner] > best_value:
            best, best_value = points[winner], float(found[winner])
        else:
            step /= 2
    return best


def _parasitic_moduli(alphas: Floats) -> Floats:
    """Largest modulus of a root of q, rho(z) = (z-1) q(z), for schemes with alphas (K, steps) of sum 1."""
    q = 1 - np.cumsum(alphas[:, :-1], axis=1)
    companions = np.zeros((len(alphas), q.shape[1], q.shape[1])) + np.eye(q.shape[1], k=-1)
    companions[:, 0] = -q
    return np.asarray(np.abs(np.linalg.eigvals(companions)).max(axis=1))


def _stage_gains(alphas: Floats) -> Floats:
    """G = ||q|| / |q(1)| for schemes with alphas (K, steps) of sum 1; see `stage_gain`."""
    q = np.hstack([np.ones((len(alphas), 1)), 1 - np.cumsum(alphas[:, :-1], axis=1)])
    with np.errstate(divide="ignore"):
        return np.asarray(np.linalg.norm(q, axis=1) / np.abs(q.sum(axis=1)))


def _vector(scheme: Scheme) -> Floats:
    return np.array([float(c) for c in (*scheme.alphas, scheme.betas[0])])

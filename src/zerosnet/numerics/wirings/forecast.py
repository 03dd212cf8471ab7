"""What can be known of a network before it is trained: shares, effective depth, accuracy, and what limits it."""

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics import rationals as num
from zerosnet.numerics.display import html_table
from zerosnet.numerics.rationals import Number, number
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.fitted import FittedNetwork
from zerosnet.numerics.wirings.forecast_limit import limit_of_forecast
from zerosnet.numerics.wirings.law import AccuracyLaw, load_law
from zerosnet.numerics.wirings.measures import effective_depth, effective_parameters
from zerosnet.numerics.wirings.prediction import Prediction
from zerosnet.numerics.wirings.stages import parameters_by_stage
from zerosnet.numerics.wirings.step import Bools, Floats
from zerosnet.numerics.wirings.survival import living_parts
from zerosnet.numerics.wirings.wiring import BOTTLENECK_STEM, STEM, Wiring, wiring_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYERS = {20: 2, 32: 2, 44: 2, 56: 2, 110: 2, 164: 3, 326: 3, 650: 3, 1298: 3}
"""Layers of the CIFAR-size networks, and convolutions per block: basic blocks have two, bottlenecks three."""

_LEAST = 1e-300  # stands for no effective parameters on a logarithmic scale


@dataclass(frozen=True, repr=False)
class Forecast:
    """A network before training, and what its coefficients promise.

    Attributes:
        scheme: The scheme of its multistep blocks.
        layers: Its layers.
        dataset: The data that accuracy is predicted for.
        stage_change: What becomes of older states where a stage begins.
        beta_growth: The betas of the n-th multistep block are multiplied by its n-th power.
        normalised: Whether every branch begins with a normalisation.
    """

    scheme: Scheme
    layers: int = 56
    dataset: str = "cifar10"
    stage_change: str = "project-each"
    beta_growth: Number = 1
    normalised: bool = True

    @cached_property
    def wiring(self) -> Wiring:
        blocks = blocks_of(self.layers)
        if self.beta_growth == 1:
            return wiring_of(self.scheme, blocks, self.stage_change)
        return Wiring.of(self.scheme, blocks, self.stage_change, self.beta_growth)

    @property
    def stem(self) -> float:
        return STEM if LAYERS[self.layers] == 2 else BOTTLENECK_STEM

    @cached_property
    def contributions(self) -> Floats:
        """Weight of every source in what every block and the head read (`Wiring.contributions`)."""
        return self.wiring.contributions(self.stem)

    @property
    def shares(self) -> Floats:
        """Share of every block in the state that it makes."""
        return self.contributions[1:, 1:].diagonal().copy()

    @property
    def parts(self) -> Floats:
        """Part of what the head reads that comes from every block."""
        return np.asarray(np.square(self.contributions[-1, 1:]))

    @property
    def stem_part(self) -> float:
        """Part of what the head reads that comes from the stem; all parts add up to 1."""
        return float(self.contributions[-1, 0] ** 2)

    @property
    def law(self) -> AccuracyLaw:
        return load_law()

    @property
    def effective_depth(self) -> float:
        """sum_n s_n / (s_n + 0.1), between 0 and the number of blocks."""
        return float(effective_depth(self.shares))

    @property
    def effective_parameters(self) -> float:
        """D of the accuracy law, in units of a block of the first stage."""
        per_block = parameters_by_stage(self.wiring.counts)
        parts = living_parts(self.shares, self.parts, per_block, self.law.survival.least)
        return float(effective_parameters(parts, per_block, self.law.tau))

    @property
    def parameters_that_reach(self) -> float:
        """D if all blocks survived: how much of the blocks reaches the head."""
        return float(effective_parameters(self.parts, parameters_by_stage(self.wiring.counts), self.law.tau))

    @cached_property
    def survivors(self) -> Bools | None:
        """True for every block that is expected to survive training; None if the law was not calibrated."""
        return self.law.survivors(self.wiring, self.stem) if self._why_not is None else None

    @property
    def survivors_text(self) -> str:
        """How many blocks are expected to survive training, such as "7 of 27 blocks"."""
        return "unknown" if self.survivors is None else f"{self.survivors.sum()} of {len(self.shares)} blocks"

    @cached_property
    def prediction(self) -> Prediction:
        """Accuracy and interval; without them, and with the reason, if the law was not calibrated for this network."""
        return self._predicted(self.law)

    @cached_property
    def last_epoch(self) -> Prediction:
        """The same for the last epoch in place of the best one, which the test set chooses."""
        return self._predicted(load_law(epoch="last"))

    def _predicted(self, law: AccuracyLaw) -> Prediction:
        if self._why_not is not None:
            return Prediction(None, None, calibrated=False, why_not=self._why_not)
        return law.predict(self.wiring, self.dataset, self.normalised)

    @cached_property
    def _why_not(self) -> str | None:
        """Why the law predicts nothing for this network; None if it was calibrated."""
        if LAYERS[self.layers] != 2:
            return "the law was fitted on networks of basic blocks"
        return self.law.not_calibrated(self.wiring, self.dataset, self.normalised)

    @property
    def nearest(self) -> tuple[FittedNetwork, ...]:
        """The three measured networks of this depth whose effective parameters are nearest."""
        alike = [one for one in self.law.networks if one.blocks == self.wiring.counts]
        own = log(max(self.effective_parameters, _LEAST))
        return tuple(sorted(alike, key=lambda one: abs(log(one.quantity) - own))[:3])

    @property
    def limit(self) -> str:
        """What keeps blocks from being used, in one sentence."""
        return limit_of_forecast(self)

    def __repr__(self) -> str:
        accuracy = self.prediction.accuracy
        said = "" if accuracy is None else f", {accuracy:.1f} % on {self.dataset}"
        depth = f"effective depth {self.effective_depth:.1f} of {len(self.shares)}"
        return f"Forecast({self.scheme.name}, {self.layers} layers: {depth}{said})"

    def _repr_latex_(self) -> str:
        return self.scheme._repr_latex_()

    def _repr_html_(self) -> str:
        predicted = self.prediction
        why = predicted.why_not or ""
        rows = [
            ("effective depth", f"{self.effective_depth:.1f} of {len(self.shares)} blocks"),
            ("survive training", self.survivors_text),
            ("accuracy", f"none: {why}" if predicted.accuracy is None else f"{predicted} on {self.dataset}"),
            ("share of the first and last block", f"{self.shares[0]:.3g}, {self.shares[-1]:.3g}"),
            ("limited by", self.limit),
        ]
        return html_table(f"{self.scheme.name}, {self.layers} layers, before training", rows, self.scheme.to_latex())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the share of every block and its part of what the head reads, pale if it dies; return the axes."""
        from zerosnet.numerics.plots import plot_forecast

        return plot_forecast(self, axes)

    def to_json(self) -> dict[str, Any]:
        """What `zerosnet predict --json` prints; `calibration` is what the law was fitted on, or why it is silent."""
        predicted, law = self.prediction, self.law
        alike = law.networks_like(self.wiring)
        return {
            "scheme": str(self.scheme),
            "layers": self.layers,
            "dataset": self.dataset,
            "stage_change": self.stage_change,
            "beta_growth": num.to_json(self.beta_growth),
            "shares": self.shares.tolist(),
            "parts": self.parts.tolist(),
            "survivors": None if self.survivors is None else self.survivors.tolist(),
            "effective_depth": self.effective_depth,
            "effective_parameters": self.effective_parameters,
            "accuracy": predicted.accuracy,
            "interval": None if predicted.interval is None else list(predicted.interval),
            "last_epoch": self.last_epoch.to_json(),
            "calibration": {
                "calibrated": predicted.calibrated,
                "why_not": predicted.why_not,
                "constants": {
                    "a": law.a,
                    "tau": law.tau,
                    "p": law.p,
                    "floor": law.floor,
                    "survival": law.survival.least,
                },
                "dataset": law.dataset,
                "recipe": law.recipe,
                "epoch": law.epoch,
                "networks": len(law.networks),
                "leave_one_out_rmse": law.rmse,
                "near_threshold": law.is_near(self.wiring),
                "networks_like_it": len(alike),
                "their_leave_one_out_rmse": law.rmse_of(alike),
            },
            "nearest": [{"scheme": one.scheme, "label": one.label, "accuracy": one.accuracy} for one in self.nearest],
            "limit": self.limit,
        }


def forecast(
    scheme: Scheme | str,
    layers: int = 56,
    *,
    dataset: str = "cifar10",
    stage_change: str = "project-each",
    beta_growth: Any = 1,
    normalised: bool = True,
) -> Forecast:
    """Compute what the coefficients of a network promise, before it is trained.

    Examples:
        >>> found = forecast("1,1,1;1")
        >>> found.limit
        'The state grows 1.84-fold per block, so that later blocks add little to it.'
        >>> round(found.effective_depth, 1), round(found.prediction.accuracy)
        (4.6, 81)
    """
    known = Scheme.of(scheme)
    blocks_of(layers)
    growth = number(beta_growth, "beta_growth")
    if growth <= 0:
        raise InputError(f"beta_growth is {beta_growth}; expected a positive number")
    made = Forecast(known, layers, dataset, stage_change, growth, normalised)
    made.wiring  # noqa: B018 (refuses what cannot be)
    return made


def blocks_of(layers: int) -> tuple[int, int, int]:
    """Count the blocks of every stage of a CIFAR-size network.

    Examples:
        >>> blocks_of(56), blocks_of(164)
        ((9, 9, 9), (18, 18, 18))
    """
    if isinstance(layers, bool) or layers not in LAYERS:
        raise InputError(f"layers is {layers!r}; expected one of {', '.join(map(str, LAYERS))}")
    n = (layers - 2) // (3 * LAYERS[layers])
    return n, n, n

"""The accuracy law: test error from the coefficients of a wiring alone.

    error = a D^-p + floor,   D = sum_n p_n max(0, 1 - sqrt(tau / v_n)) over the blocks that survive training

with p_n the parameters of block n in units of the first stage's (4^stage) and v_n the part of the second moment of what
the head reads that comes from block n. Shares and parts tell which blocks survive (`survival`). The floor is the error
that no depth removes. The constants are fitted to trained networks and stored with what they were fitted on; see `fit`.

Predictions were registered with two other laws too, which have no floor and D = sum_n p_n u_n / (u_n + tau): u_n is the
square root of the part (`contributions`), or the share of the block (`shares`). The law of shares is the rival of the
law of parts: if the two disagree about a network, the interval is wider. Under the name `parts`, files of predictions
hold the law of their day: `survival.json` and later ones this law; `threshold.json`, `wirings-threshold.json` and
`small-betas.json` D = sum_n p_n max(0, 1 - sqrt(tau r_n / v_n)) over all blocks, r_n = 2^stage; all older ones
D = sum_n p_n v_n / (v_n + tau).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil, exp, floor, isclose, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.display import html_table
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.companion import largest_root, typical_root
from zerosnet.numerics.wirings.fitted import FittedNetwork, network_json, read_network
from zerosnet.numerics.wirings.measures import effective_parameters, weighted_depth
from zerosnet.numerics.wirings.stages import parameters_by_stage
from zerosnet.numerics.wirings.step import Floats
from zerosnet.numerics.wirings.survival import Survival, is_near, living_parts
from zerosnet.numerics.wirings.wiring import Wiring

LAW_FILE = Path(__file__).with_name("law.json")
COUNTS: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike, float], Floats]] = {
    "parts": effective_parameters,
    "contributions": weighted_depth,
    "shares": weighted_depth,
}
MEASURES = tuple(COUNTS)
EVERY_BLOCK = Survival(0.0)
COVERAGE = 0.9
"""The level of a prediction interval."""

SLACK = 0.1
"""Width of an interval is proportional to this plus the disagreement with the rival, both of log(error)."""


@dataclass(frozen=True, repr=False)
class Prediction:
    """Accuracy in percent with its 90 % interval; None, and the reason, if the law was not calibrated."""

    accuracy: float | None
    interval: tuple[float, float] | None
    calibrated: bool
    why_not: str | None = None

    def __str__(self) -> str:
        if self.accuracy is None or self.interval is None:
            return f"no accuracy: {self.why_not}"
        return f"{self.accuracy:.1f} % ({self.interval[0]:.1f} to {self.interval[1]:.1f})"

    def __repr__(self) -> str:
        return f"Prediction({self})"

    def _repr_html_(self) -> str:
        return html_table("Predicted test accuracy", [("90 % interval in brackets", str(self))])

    def to_json(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "interval": None if self.interval is None else list(self.interval)}


@dataclass(frozen=True)
class AccuracyLaw:
    """error = a D^-p + floor in percent, with what it was fitted on.

    Attributes:
        measure: What D is made of, "parts", "contributions" or "shares".
        epoch: Whose accuracy, "best" or "last".
        rival: Another law; disagreement with it widens the interval.
        survival: Which blocks of a law of parts survive training.
    """

    measure: str
    a: float
    tau: float
    p: float
    dataset: str
    recipe: str
    epoch: str
    networks: tuple[FittedNetwork, ...]
    floor: float = 0.0
    rival: "AccuracyLaw | None" = None
    survival: Survival = EVERY_BLOCK

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InputError(f"measure is {self.measure!r}; expected one of {', '.join(MEASURES)}")

    @property
    def rmse(self) -> float:
        """Root mean square of the leave-one-out errors, in points."""
        return self.rmse_of(self.networks)

    @staticmethod
    def rmse_of(networks: Sequence[FittedNetwork]) -> float:
        """The same over some of the networks."""
        return sqrt(sum((n.left_out - n.accuracy) ** 2 for n in networks) / len(networks))

    def alike(self, wiring: Wiring) -> list[FittedNetwork]:
        """The networks it was fitted on that are near the threshold of survival too, or not near it either."""
        return [one for one in self.networks if one.near is self.is_near(wiring)]

    @cached_property
    def _doubts(self) -> dict[bool, float]:
        """The k-th smallest of n leave-one-out scores, k = 90 % of n + 1: as many new networks of the same kind are in.

        A score is the size of a residual of log(error), relative to the slack plus the disagreement with the rival.
        Errors of 6 % and of 25 % have residuals of one size on this scale. Networks near the threshold of survival
        have a number of their own (True).
        """
        found = {near: self._doubt([one for one in self.networks if one.near is near]) for near in (False, True)}
        return {near: doubt or max(found.values()) for near, doubt in found.items()}

    @staticmethod
    def _doubt(networks: Sequence[FittedNetwork]) -> float:
        scores = [0.0]
        for one in networks:
            apart = 0.0 if one.rival is None else abs(_log_ratio(one.left_out, one.rival))
            scores.append(abs(_log_ratio(one.left_out, one.accuracy)) / (SLACK + apart))
        return sorted(scores)[min(ceil(COVERAGE * (len(networks) + 1)), len(networks))]

    def log_halfwidth(self, disagreement: float = 0.0, near: bool = False) -> float:
        """Half the width of a prediction interval of log(error), for a disagreement of log(error) with the rival."""
        return self._doubts[near] * (SLACK + disagreement)

    def is_near(self, wiring: Wiring) -> bool:
        """Tell whether much of a network starts near the threshold of survival, so that its accuracy is uncertain."""
        return is_near(wiring.shares(), wiring.head_parts(), parameters_by_stage(wiring.counts), self.survival.least)

    def disagreement(self, wiring: Wiring) -> float:
        """Size of the difference of log(error) between this law and its rival; 0 without one."""
        if self.rival is None:
            return 0.0
        errors = [law.error_of(law.quantity(wiring)) for law in (self, self.rival)]
        return abs(log(errors[0] / errors[1]))

    def error_of(self, quantity: float) -> float:
        """Error in percent, at most 100."""
        return min(self.a * quantity**-self.p + self.floor, 100.0) if quantity > 0 else 100.0

    def quantity(self, wiring: Wiring) -> float:
        """D of a wiring."""
        return float(self._quantities(wiring.shares(), wiring.head_parts(), parameters_by_stage(wiring.counts)))

    def _quantities(self, shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike) -> Floats:
        weights = used(self.measure, shares, parts, per_block, self.survival.least)
        return np.asarray(COUNTS[self.measure](weights, per_block, self.tau))

    @property
    def half(self) -> float:
        """The part, contribution or share at which a block that survives counts half."""
        return 4 * self.tau if self.measure == "parts" else self.tau

    def accuracy_of(self, shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike) -> Floats:
        """Accuracy in percent from shares and parts of all blocks (..., N); calibration is not checked."""
        quantities = self._quantities(shares, parts, per_block)
        errors = self.a * np.maximum(quantities, _LEAST) ** -self.p + self.floor
        return np.asarray(100 - np.minimum(errors, 100.0))

    def predict(self, wiring: Wiring, dataset: str | None = None, normalised: bool = True) -> Prediction:
        """Predict the test accuracy of a network, if the law was calibrated.

        dataset: the data, the law's own by default. normalised: whether every branch begins with a normalisation.
        """
        why_not = self.not_calibrated(wiring, dataset, normalised)
        if why_not is not None:
            return Prediction(None, None, calibrated=False, why_not=why_not)
        quantity = self.quantity(wiring)
        if quantity == 0:
            return Prediction(None, None, calibrated=False, why_not="no block reaches the head")
        error, halfwidth = self.error_of(quantity), self.log_halfwidth(self.disagreement(wiring), self.is_near(wiring))
        low, high = (100 - min(error * exp(sign * halfwidth), 100.0) for sign in (1, -1))
        return Prediction(100 - error, (low, high), calibrated=True)

    def not_calibrated(self, wiring: Wiring, dataset: str | None = None, normalised: bool = True) -> str | None:
        """Explain why the law predicts nothing for this network; None if it predicts."""
        counts = [sum(n.blocks) for n in self.networks]
        least, most = min(counts) // 2, 2 * max(counts)
        stages = {len(n.blocks) for n in self.networks}
        if dataset is not None and dataset != self.dataset:
            return f"the law was fitted on {self.dataset}, not on {dataset}"
        if not normalised:
            return "the law was fitted on networks whose branches begin with a normalisation"
        if len(wiring.stages) not in stages:
            return f"the law was fitted on networks of {max(stages)} stages, not {len(wiring.stages)}"
        if not least <= len(wiring.steps) <= most:
            return f"the law is used from {least} to {most} blocks, not for {len(wiring.steps)}"
        return self._unlike_roots(wiring.schemes()) if wiring.alphas else None

    def _unlike_roots(self, schemes: Sequence[Scheme]) -> str | None:
        """Explain that the largest root of these schemes is outside of what was measured; None if it is not."""
        root, (low, high) = typical_root(schemes), self.roots
        if low <= root <= high:
            return None
        grows = not isclose(root, largest_root(schemes[-1]))
        return (
            f"the law was fitted on schemes whose largest root is {low:g} to {high:g}, not {root:.3g}"
            f"{' (divided by the growth of beta)' if grows else ''}"
        )

    @cached_property
    def roots(self) -> tuple[float, float]:
        """The range of the largest roots of the schemes it was fitted on, rounded outwards to hundredths."""
        found = [network.typical_root for network in self.networks]
        return floor(100 * min(found)) / 100, ceil(100 * max(found)) / 100

    def fitted(self, wiring: Wiring) -> FittedNetwork | None:
        """The network of this wiring that the law was fitted on; None if there is none."""
        return self._fitted.get(wiring)

    @cached_property
    def _fitted(self) -> dict[Wiring, FittedNetwork]:
        return {network.wiring: network for network in self.networks}

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready object, lossless; the leave-one-out error and the interval are repeated for the reader."""
        networks = [network_json(network) for network in self.networks]
        runs = sum(network.runs for network in self.networks)
        facts = {"runs": runs, "leave_one_out_rmse": self.rmse, "log_halfwidth": self.log_halfwidth()}
        rival = None if self.rival is None else self.rival.measure
        survival = {} if self.survival == EVERY_BLOCK else {"survival": self.survival.to_json()}
        return {**self.constants(), **survival, **facts, "rival": rival, "networks": networks}

    def constants(self) -> dict[str, Any]:
        """What it is and its constants, without the networks."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_json(cls, data: Any, rival: "AccuracyLaw | None" = None) -> "AccuracyLaw":
        """Read what `to_json` writes; the rival stands elsewhere."""
        missing = [name for name in (*_FIELDS, "networks") if not isinstance(data, dict) or name not in data]
        if missing:
            raise InputError(
                f"a law in JSON has no {missing[0]}; expected an object with {', '.join(_FIELDS)}, networks"
            )
        networks = map(read_network, data["networks"])
        survival = Survival(**data["survival"]) if "survival" in data else EVERY_BLOCK
        facts = {name: data[name] for name in _FIELDS}
        return cls(**facts, networks=tuple(networks), rival=rival, survival=survival)


_LEAST = 1e-9  # of D, where no block counts
_FIELDS = ("measure", "a", "tau", "p", "floor", "dataset", "recipe", "epoch")


def _log_ratio(accuracy: float, other: float) -> float:
    return log((100 - accuracy) / (100 - other))


def used(
    measure: str, shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike, least: float = 0.0
) -> Floats:
    """Compute what a measure takes of every block: its share, its part if it survives, or the root of its part."""
    if measure == "shares":
        return np.asarray(shares)
    return living_parts(shares, parts, per_block, least) if measure == "parts" else np.sqrt(parts)


@cache
def load_law(measure: str = "parts", epoch: str = "best") -> AccuracyLaw:
    """The law that comes with the package, by what it is made of and whose accuracy it predicts.

    Examples:
        >>> law = load_law()
        >>> law.dataset, law.recipe, law.epoch
        ('cifar10', 'paper', 'best')
    """
    for data in _stored():
        if (data["measure"], data["epoch"]) == (measure, epoch):
            rival = data.get("rival")
            return AccuracyLaw.from_json(data, None if rival is None else load_law(rival, epoch))
    raise InputError(f"no law of {measure!r} and {epoch!r}; expected one of {', '.join(MEASURES)}, and best or last")


@cache
def _stored() -> list[dict[str, Any]]:
    laws: list[dict[str, Any]] = json.loads(LAW_FILE.read_text(encoding="utf-8"))["laws"]
    return laws

"""The accuracy law: test error from the coefficients of a wiring alone.

    error = a D^-p + floor,   D = sum_n p_n max(0, 1 - sqrt(tau / v_n)) over the blocks that survive training

with p_n the parameters of block n in units of the first stage's (4^stage) and v_n the part of the second moment of what
the head reads that comes from block n. Shares and parts tell which blocks survive (`survival`). The floor is the error
that no depth removes. The constants are fitted to trained networks and stored with what they were fitted on; see `fit`.

Predictions were registered with two other laws too, which have no floor and D = sum_n p_n u_n / (u_n + tau): u_n is the
square root of the part (`contributions`), or the share of the block (`shares`). Under the name `parts`, files of
predictions hold the law of their day: `survival.json` and later ones this law; `threshold.json`,
`wirings-threshold.json` and `small-betas.json` D = sum_n p_n max(0, 1 - sqrt(tau r_n / v_n)) over all blocks, with
r_n = 2^stage; all older ones D = sum_n p_n v_n / (v_n + tau).
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
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings import json_fields as fields
from zerosnet.numerics.wirings.companion import largest_root, typical_root
from zerosnet.numerics.wirings.fitted import FittedNetwork, network_json, read_network
from zerosnet.numerics.wirings.measures import effective_parameters, weighted_depth
from zerosnet.numerics.wirings.prediction import Prediction
from zerosnet.numerics.wirings.stages import parameters_by_stage
from zerosnet.numerics.wirings.step import Bools, Floats
from zerosnet.numerics.wirings.survival import BAND, Survival, is_near, living_parts, read_survival, survives
from zerosnet.numerics.wirings.wiring import STEM, Wiring

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


@dataclass(frozen=True)
class AccuracyLaw:
    """error = a D^-p + floor in percent, with what it was fitted on.

    Attributes:
        measure: What D is made of, "parts", "contributions" or "shares".
        epoch: Whose accuracy, "best" or "last".
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
        """Compute the same for some networks."""
        return sqrt(sum((n.left_out - n.accuracy) ** 2 for n in networks) / len(networks))

    def networks_like(self, wiring: Wiring) -> list[FittedNetwork]:
        """List the fitted networks on the same side: near the threshold of survival, or clear of it."""
        near = self.is_near(wiring)
        return [one for one in self.networks if one.near is near]

    def survivors(self, wiring: Wiring, stem: float = STEM) -> Bools:
        """Return True for the blocks that are expected to survive training."""
        per_block = parameters_by_stage(wiring.counts)
        return survives(wiring.shares(stem), wiring.head_parts(stem), per_block, self.survival.least)

    @cached_property
    def log_halfwidth(self) -> float:
        """Half the width of a prediction interval of log(error), beside what the threshold of survival leaves open.

        The k-th smallest of n leave-one-out residuals, k = 90 % of n + 1: as many new networks of the same kind are in.
        Errors of 6 % and of 25 % have residuals of one size on this scale.
        """
        found = []
        for one in self.networks:
            residual = log((100 - one.accuracy) / (100 - one.left_out))
            found.append(max(one.spread[0] - residual, residual - one.spread[1], 0.0))
        return sorted(found)[min(ceil(COVERAGE * (len(found) + 1)), len(found)) - 1]

    def spread(self, wiring: Wiring) -> tuple[float, float]:
        """Changes of log(error) if all blocks close to the threshold survive, and if all of them die."""
        errors = [self.error_of(self.quantity(wiring, factor)) for factor in (1 / BAND, 1.0, BAND)]
        return log(errors[0] / errors[1]), log(errors[2] / errors[1])

    def is_near(self, wiring: Wiring) -> bool:
        """Check if much of a network starts near the threshold of survival, so that its accuracy is uncertain."""
        return is_near(wiring.shares(), wiring.head_parts(), parameters_by_stage(wiring.counts), self.survival.least)

    def error_of(self, quantity: float) -> float:
        """Error in percent, at most 100."""
        return min(self.a * quantity**-self.p + self.floor, 100.0) if quantity > 0 else 100.0

    def quantity(self, wiring: Wiring, factor: float = 1.0) -> float:
        """Compute D of a wiring, with the threshold of survival times a factor."""
        per_block = parameters_by_stage(wiring.counts)
        return float(self._quantities(wiring.shares(), wiring.head_parts(), per_block, factor))

    def _quantities(
        self, shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike, factor: float = 1.0
    ) -> Floats:
        weights = used(self.measure, shares, parts, per_block, factor * self.survival.least)
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
            why_not = "no block reaches the head" if self.survivors(wiring).any() else "no block survives training"
            return Prediction(None, None, calibrated=False, why_not=why_not)
        return self._prediction(self.error_of(quantity), self.spread(wiring))

    def predict_left_out(self, wiring: Wiring, dataset: str | None = None, normalised: bool = True) -> Prediction:
        """Predict a network by the law fitted to all other networks."""
        known = self.fitted(wiring)
        if known is None or self.not_calibrated(wiring, dataset, normalised) is not None:
            return self.predict(wiring, dataset, normalised)
        return self._prediction(100 - known.left_out, known.spread)

    def _prediction(self, error: float, spread: tuple[float, float]) -> Prediction:
        less, more = spread
        low = 100 - min(error * exp(more + self.log_halfwidth), 100.0)
        return Prediction(100 - error, (low, 100 - error * exp(less - self.log_halfwidth)), calibrated=True)

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
        if len(wiring.read) > 1 and not wiring.alphas:
            return "the law was fitted on networks of schemes, not of several streams"
        if wiring.betas > 1:
            return "the law was fitted on schemes with one beta"
        return self._unlike_roots(schemes_of(wiring))

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
        found = [network.root for network in self.networks]
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
        facts = {"runs": runs, "leave_one_out_rmse": self.rmse, "log_halfwidth": self.log_halfwidth}
        survival = {} if self.survival == EVERY_BLOCK else {"survival": self.survival.to_json()}
        return {**self.constants(), **survival, **facts, "networks": networks}

    def constants(self) -> dict[str, Any]:
        """What it is and its constants, without the networks."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_json(cls, data: Any) -> "AccuracyLaw":
        """Read what `to_json` writes."""
        required = {**_FIELDS, "networks": fields.list_of(fields.ANYTHING, least=1)}
        fields.check_fields(data, "a law in JSON", required, _OPTIONAL)
        networks = tuple(read_network(one, f"networks[{i}]") for i, one in enumerate(data["networks"]))
        survival = read_survival(data["survival"]) if "survival" in data else EVERY_BLOCK
        return cls(**{name: data[name] for name in _FIELDS}, networks=networks, survival=survival)


_LEAST = 1e-9  # of D, where no block counts
_FIELDS = {
    "measure": fields.TEXT,
    "a": fields.POSITIVE,
    **dict.fromkeys(("tau", "p", "floor"), fields.NOT_NEGATIVE),
    **dict.fromkeys(("dataset", "recipe", "epoch"), fields.TEXT),
}
_OPTIONAL = {
    "survival": fields.ANYTHING,
    "runs": fields.COUNT,
    **dict.fromkeys(("leave_one_out_rmse", "log_halfwidth"), fields.NUMBER),
}


def schemes_of(wiring: Wiring) -> Sequence[Scheme]:
    """List the schemes of all blocks; gains of one stream are schemes of one step."""
    if wiring.alphas:
        return wiring.schemes()
    return [Scheme([step.A[0][0]], [step.b[0]]) for step in wiring.steps]


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
            return AccuracyLaw.from_json(data)
    raise InputError(f"no law of {measure!r} and {epoch!r}; expected one of {', '.join(MEASURES)}, and best or last")


@cache
def _stored() -> list[dict[str, Any]]:
    laws: list[dict[str, Any]] = json.loads(LAW_FILE.read_text(encoding="utf-8"))["laws"]
    return laws

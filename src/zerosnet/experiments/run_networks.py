"""The network of a run, from its record alone: its name, scheme, wiring and forecast, and what training made of it.

Names, schemes and forecasts need no torch; it is loaded when a wiring is built.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.models import find_name
from zerosnet.numerics import (
    LM_NETWORK_BETA,
    Forecast,
    Prediction,
    Scheme,
    Wiring,
    forecast,
    is_zero_stable,
    lm,
    load_law,
    words_of_schemes,
)
from zerosnet.training import RunSpec

if TYPE_CHECKING:
    from zerosnet.models import Config

_SHORT = len("-1/20")  # coefficients that are no longer stay as they are
_LM_START = "-1/20"
_ON_THE_CIRCLE = 1e-5  # the journal has six digits


def wired_name(spec: RunSpec, scheme: str) -> str:
    """Name a network by its scheme and what is unusual about it: "1,1,1;1, beta growth 1.841".

    One with a scheme per block is named by that of the first.
    """
    growths = {"beta growth": spec.beta_growth, "initial growth": spec.init_growth}
    told = [f"{kind} {float(rate):.4g}" for kind, rate in growths.items() if rate is not None]
    told += [] if spec.stage_change is None else [spec.stage_change]
    if spec.block_schemes is not None:
        scheme, told = str(spec.block_schemes[0]), [*told, words_of_schemes([*map(str, spec.block_schemes)])]
    return ", ".join(filter(None, [scheme, *told]))


def recipe_name(spec: RunSpec) -> str:
    """Name a run's recipe with what was changed in it: "paper (epochs 4)"; the precision and images held out too."""
    changed = [f"{key} {value}" for key, value in spec.changes.items()]
    changed += [] if spec.precision is None else [spec.precision]
    changed += [] if spec.validation is None else [f"{spec.validation:g} held out"]
    return spec.recipe.name + (f" ({', '.join(changed)})" if changed else "")


def rounded_name(name: str) -> str:
    """Round the coefficients of many digits in a name, to four digits.

    Examples:
        >>> rounded_name("zerosnet56 1/3,543183/1000000;679/1250, beta growth 2")
        'zerosnet56 1/3,0.5432;0.5432, beta growth 2'
    """
    first, comma, rest = name.partition(", ")
    *model, text = first.split(" ")
    if ";" not in text:
        return name
    scheme = Scheme.parse(text)
    parts = (
        ",".join(str(value) if len(str(value)) <= _SHORT else f"{float(value):.4g}" for value in values)
        for values in (scheme.alphas, scheme.betas)
    )
    return " ".join([*model, ";".join(parts)]) + comma + rest


def scheme_of_run(spec: RunSpec) -> Scheme | None:
    """Return the fixed scheme of a run's multistep blocks; None if it has several, or trains its coefficients."""
    if spec.scheme is not None or spec.block_schemes is not None:
        return spec.scheme
    try:
        return find_name(spec.model)[0].scheme
    except InputError:  # a record of a network that has no name any more
        return None


def forecast_of_run(spec: RunSpec) -> Forecast | None:
    """Forecast a run's network before its training.

    It is None for networks without a fixed scheme, with growing initial weights, or of other sizes than CIFAR's.
    """
    scheme = scheme_of_run(spec)
    if scheme is None or spec.init_growth is not None:
        return None
    try:
        return forecast(
            scheme,
            find_name(spec.model)[1],
            dataset=spec.dataset,
            stage_change=spec.stage_change or "project-each",
            beta_growth=1 if spec.beta_growth is None else spec.beta_growth,
            normalised="_nonorm" not in spec.model,
        )
    except InputError:  # a size that no wiring is known for
        return None


def prediction_of_run(spec: RunSpec, *, epoch: str = "best") -> Prediction | None:
    """Predict the test accuracy of a run; None unless the law was calibrated for its network, data and recipe.

    A network that the law was fitted on is predicted by the law fitted to the others.
    """
    law = load_law(epoch=epoch)
    unusual = spec.changes or spec.validation is not None or spec.init_growth is not None
    if spec.recipe.name != law.recipe or unusual:
        return None
    wiring = known_wiring(spec)
    found = None if wiring is None else law.predict_left_out(wiring, spec.dataset)
    return found if found is not None and found.calibrated else None


def wiring_of_run(spec: RunSpec, *, at_start: bool = False) -> Wiring | None:
    """Build the wiring of a run's network, for the accuracy law.

    With `at_start` trained coefficients stand for their start values. Otherwise it is None for networks that the law
    was not made for: trained coefficients, bottlenecks, ImageNet's size, no normalisation. LM-ResNet, which trains its
    k, stands for the mean of its start values. With `init_growth` it is the wiring at initialisation, where a growing
    weight and a growing beta are the same function.
    """
    from zerosnet.models import Network, configure, wiring_of_network

    config = configure(spec.model, **spec.network_options)
    schemes = _fixed_schemes(config)
    structure = config.structure
    if not structure.normalised or (structure.size, structure.block) != ("cifar", "basic"):
        return None
    if schemes is None:
        return wiring_of_network(Network(config, [spec.seed])) if at_start else None
    if config.init_growth:
        schemes = _initially(config, schemes)
    return Wiring.per_block(schemes, config.structure.blocks, config.stage_change)


def known_wiring(spec: RunSpec) -> Wiring | None:
    """Build the wiring of a run's network; None also for a size that no wiring is known for."""
    try:
        return wiring_of_run(spec)
    except InputError:
        return None


def _fixed_schemes(config: "Config") -> tuple[Scheme, ...] | None:
    if config.law is None:
        return config.fixed_schemes()[0]
    if not config.name.startswith("lmresnet"):
        return None
    multistep = sum(block.multistep for block in config.plans())
    return (lm(_LM_START, LM_NETWORK_BETA),) * multistep


def _initially(config: "Config", schemes: tuple[Scheme, ...]) -> tuple[Scheme, ...]:
    """Multiply the betas by the factors of the initial weights."""
    plans = config.plans()
    gains = config.initial_gains(plans)
    slots = [block.index for block in plans if block.multistep or len(schemes) == len(plans)]
    factors = (gains[index][0] for index in slots)
    return tuple(Scheme(s.alphas, [float(beta) * factor for beta in s.betas]) for s, factor in zip(schemes, factors))


@dataclass(frozen=True)
class TrainedWiring:
    """The wiring at the end of a run, and whether its blocks are zero-stable, each by itself.

    Attributes:
        outside: How many blocks are not: a root of the scheme, or an eigenvalue of A, outside the unit circle (or on
            it and multiple).
        largest_modulus: Of a root or an eigenvalue of any block.
        growth: The most that products A_n ... A_0 multiply a disturbance of the first streams by, up to any depth.
    """

    wiring: Wiring
    outside: int
    largest_modulus: float
    growth: float

    @property
    def blocks(self) -> int:
        return len(self.wiring.steps)


def trained_wiring(spec: RunSpec, metrics: Sequence[Mapping[str, Any]]) -> TrainedWiring | None:
    """Read the wiring that a run ended with off its journal; None if coefficients are fixed, or were not kept."""
    kept = [row for row in metrics if row.get("coefficients") or row.get("matrices")]
    return _of_row(spec, kept[-1]) if kept else None


def _of_row(spec: RunSpec, row: Mapping[str, Any]) -> TrainedWiring:
    from zerosnet.models import StreamsLaw, configure

    config = configure(spec.model, **spec.network_options)
    counts = config.structure.blocks
    if isinstance(config.law, StreamsLaw):
        A, b, c = ([block[name] for block in row["matrices"]] for name in "Abc")
        read = config.law.kind.read(config.law.streams)
        wiring = Wiring.of_matrices(A, b, c, read, blocks=counts, projection="each")
        moduli = [float(np.abs(np.linalg.eigvals(np.array(matrix))).max()) for matrix in A]
        outside = sum(modulus > 1 + _ON_THE_CIRCLE for modulus in moduli)
    else:
        schemes = [Scheme.from_json(block) for block in row["coefficients"]]
        wiring = Wiring.per_block(schemes, counts, config.stage_change)
        moduli = [float(np.abs(np.roots([float(x) for x in scheme.rho])).max()) for scheme in schemes]
        outside = sum(not is_zero_stable(scheme) for scheme in schemes)
    return TrainedWiring(wiring, outside, max(moduli), float(10 ** wiring.gains().forward_rows.max()))

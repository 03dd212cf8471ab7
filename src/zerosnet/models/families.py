"""Families of networks: how their coefficients are found, and which structures they have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from zerosnet.errors import InputError
from zerosnet.models.stepping.laws import LambdaLaw, Law, LmLaw, StableLambdaLaw, StableRootsLaw
from zerosnet.models.stepping.mixing_laws import GainsLaw, SimplexLaw, scaled_steps
from zerosnet.models.stepping.streams import StreamsLaw
from zerosnet.models.structure import FIXUP_STRUCTURES, STRUCTURES, Structure
from zerosnet.numerics import EULER, LM_BETAS, LM_NETWORK_BETA, OPTIMUM, Scheme


@dataclass(frozen=True)
class ModelFamily:
    """Everything that the networks of one kind share."""

    scheme: Scheme | None = None
    """The fixed scheme if none is given."""
    takes_scheme: bool = True
    steps: int | None = None
    """The number of steps that a given scheme must have."""
    law: Callable[..., Law | StreamsLaw] | None = None
    """Makes the law of trained coefficients from the options named in `options`."""
    options: tuple[str, ...] = ()
    stage_change: str = "project-each"
    structures: Mapping[int, Structure] = field(default_factory=lambda: STRUCTURES)
    """By depth."""
    block_schemes: Callable[[int], tuple[Scheme, ...]] | None = None
    """Makes the schemes of so many blocks, if they differ and none is given."""


def _lm_law(beta: str = LM_NETWORK_BETA) -> Law:
    if not isinstance(beta, str) or beta not in LM_BETAS:
        raise InputError(f"beta is {beta!r}; expected one of {', '.join(LM_BETAS)}")
    return LmLaw(LM_BETAS[beta])


def _stable_law(order: int = 1, steps: int = 3) -> Law:
    if order == 1:
        return StableRootsLaw(steps)
    if order == 2 and steps == 3:
        return StableLambdaLaw()
    raise InputError(f"order is {order!r} with steps {steps!r}; expected order 1 and 2 steps or more, or order 2 and 3")


def _first_state_law() -> StreamsLaw:
    return StreamsLaw(2, "first-state")


def _streams_law(mixing: str) -> Callable[..., StreamsLaw]:
    def law(streams: int = 4) -> StreamsLaw:
        return StreamsLaw(streams, mixing)

    return law


BASIC_STRUCTURES = {
    depth: structure
    for depth, structure in STRUCTURES.items()
    if structure.size == "cifar" and structure.block == "basic" and depth in FIXUP_STRUCTURES
}
"""The CIFAR-size networks with basic blocks, which laws of mixing are compared on."""

FAMILIES: Mapping[tuple[str, str], ModelFamily] = {
    ("preresnet", ""): ModelFamily(scheme=EULER, steps=1),
    ("lmresnet", ""): ModelFamily(law=_lm_law, options=("beta",), steps=2, stage_change="restart"),
    ("zerosnet", ""): ModelFamily(),
    ("zerosnet", "_opt"): ModelFamily(scheme=OPTIMUM, takes_scheme=False),
    ("zerosnet", "_tra"): ModelFamily(law=LambdaLaw, takes_scheme=False),
    ("zerosnet", "_stable"): ModelFamily(law=_stable_law, options=("order", "steps"), takes_scheme=False),
    ("zerosnet", "_simplex"): ModelFamily(
        law=SimplexLaw, options=("steps",), takes_scheme=False, structures=BASIC_STRUCTURES
    ),
    ("preresnet", "_gains"): ModelFamily(law=GainsLaw, takes_scheme=False, structures=BASIC_STRUCTURES),
    ("preresnet", "_scaled"): ModelFamily(block_schemes=scaled_steps, takes_scheme=False, structures=BASIC_STRUCTURES),
    ("preresnet", "_x0"): ModelFamily(law=_first_state_law, takes_scheme=False, structures=BASIC_STRUCTURES),
    ("streams", ""): ModelFamily(
        law=_streams_law("free"), options=("streams",), takes_scheme=False, structures=BASIC_STRUCTURES
    ),
    ("streams", "_sinkhorn"): ModelFamily(
        law=_streams_law("doubly-stochastic"), options=("streams",), takes_scheme=False, structures=BASIC_STRUCTURES
    ),
    ("preresnet", "_nonorm"): ModelFamily(scheme=Scheme([1], [1]), steps=1, structures=FIXUP_STRUCTURES),
    ("zerosnet", "_nonorm"): ModelFamily(structures=FIXUP_STRUCTURES),
}
"""(front, back) of a name; the depth stands between them."""

"""Families of networks: how their coefficients are found, and which structures they have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zerosnet.errors import InputError
from zerosnet.models.stepping.laws import LambdaLaw, Law, LmLaw, StableLambdaLaw, StableRootsLaw
from zerosnet.models.stepping.mixing_laws import GainsLaw, SimplexLaw, scaled_steps
from zerosnet.models.stepping.streams import StreamsLaw
from zerosnet.models.structure import BASIC_DEPTHS, FIXUP_STRUCTURES, FORMS, STRUCTURES, NameForm, Structure
from zerosnet.numerics import LM_BETAS, LM_NETWORK_BETA, Scheme


@dataclass(frozen=True)
class ModelFamily:
    """Everything that the networks of one kind share."""

    form: NameForm
    """Depths, and the schemes that can be given."""
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


BASIC_STRUCTURES = {depth: STRUCTURES[depth] for depth in BASIC_DEPTHS}
"""The CIFAR-size networks with basic blocks, which laws of mixing are compared on."""

_STREAMS = {"options": ("streams",), "structures": BASIC_STRUCTURES}
_TRAITS: Mapping[tuple[str, str], dict[str, Any]] = {
    ("preresnet", ""): {},
    ("lmresnet", ""): {"law": _lm_law, "options": ("beta",), "stage_change": "restart"},
    ("zerosnet", ""): {},
    ("zerosnet", "_opt"): {},
    ("zerosnet", "_tra"): {"law": LambdaLaw},
    ("zerosnet", "_stable"): {"law": _stable_law, "options": ("order", "steps")},
    ("zerosnet", "_simplex"): {"law": SimplexLaw, "options": ("steps",), "structures": BASIC_STRUCTURES},
    ("preresnet", "_gains"): {"law": GainsLaw, "structures": BASIC_STRUCTURES},
    ("preresnet", "_scaled"): {"block_schemes": scaled_steps, "structures": BASIC_STRUCTURES},
    ("preresnet", "_x0"): {"law": _first_state_law, "structures": BASIC_STRUCTURES},
    ("streams", ""): {"law": _streams_law("free"), **_STREAMS},
    ("streams", "_sinkhorn"): {"law": _streams_law("doubly-stochastic"), **_STREAMS},
    ("preresnet", "_nonorm"): {"structures": FIXUP_STRUCTURES},
    ("zerosnet", "_nonorm"): {"structures": FIXUP_STRUCTURES},
}
FAMILIES: Mapping[tuple[str, str], ModelFamily] = {
    key: ModelFamily(form, **_TRAITS[key]) for key, form in FORMS.items()
}
"""(front, back) of a name; the depth stands between them."""

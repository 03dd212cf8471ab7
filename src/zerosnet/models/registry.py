"""Networks by name: a family, its depth, and how its coefficients are found, such as zerosnet56_opt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import torch

from zerosnet.errors import InputError
from zerosnet.models.cifar import CIFAR_STRUCTURES
from zerosnet.models.config import Config, check_integer
from zerosnet.models.imagenet import IMAGENET_STRUCTURES
from zerosnet.models.io.weights import load_model
from zerosnet.models.network import Network
from zerosnet.models.pretrained import tagged
from zerosnet.models.stepping.laws import LambdaLaw, Law, LmLaw
from zerosnet.models.stepping.stable_laws import StableLambdaLaw, StableRootsLaw
from zerosnet.models.structure import Structure
from zerosnet.numerics import EULER, LM_BETAS, LM_NETWORK_BETA, OPTIMUM, Scheme

AnyScheme = Scheme | str


@dataclass(frozen=True)
class ModelFamily:
    """What the networks of one kind share."""

    scheme: Scheme | None = None
    """The fixed scheme, where none is given."""
    takes_scheme: bool = True
    steps: int | None = None
    """How many steps a given scheme must have."""
    law: Callable[..., Law] | None = None
    """Makes the law of trained coefficients from the options named in `options`."""
    options: tuple[str, ...] = ()
    stage_change: str = "project-each"


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


FAMILIES: Mapping[tuple[str, str], ModelFamily] = {
    ("preresnet", ""): ModelFamily(scheme=EULER, steps=1),
    ("lmresnet", ""): ModelFamily(law=_lm_law, options=("beta",), steps=2, stage_change="restart"),
    ("zerosnet", ""): ModelFamily(),
    ("zerosnet", "_opt"): ModelFamily(scheme=OPTIMUM, takes_scheme=False),
    ("zerosnet", "_tra"): ModelFamily(law=LambdaLaw, takes_scheme=False),
    ("zerosnet", "_stable"): ModelFamily(law=_stable_law, options=("order", "steps"), takes_scheme=False),
}
"""(front, back) of a name; the depth stands between them."""

STRUCTURES: Mapping[int, Structure] = {**CIFAR_STRUCTURES, **IMAGENET_STRUCTURES}


@dataclass(frozen=True)
class Entry:
    """A registered network."""

    name: str
    family: ModelFamily = field(repr=False)
    structure: Structure


REGISTRY: Mapping[str, Entry] = {
    f"{front}{depth}{back}": Entry(f"{front}{depth}{back}", family, structure)
    for (front, back), family in FAMILIES.items()
    for depth, structure in sorted(STRUCTURES.items())
}


def list_models(pattern: str = "*") -> list[str]:
    """Registered names that match a shell pattern such as "zerosnet*"."""
    return [name for name in REGISTRY if fnmatchcase(name, pattern)]


def create_model(
    name: str,
    *,
    scheme: AnyScheme | Sequence[AnyScheme] | None = None,
    num_classes: int | None = None,
    in_chans: int = 3,
    replicas: int = 1,
    seed: int | Sequence[int] | None = None,
    conv_dtype: torch.dtype | None = None,
    pretrained: str | bool = False,
    **options: Any,
) -> Network:
    """Build a network by name.

    scheme      a Scheme or its text, or a list of them, one a replica: the bare `zerosnetN` needs one; `preresnetN`
                takes a one-step scheme, `lmresnetN` a two-step one, which fixes its coefficients
    num_classes default: 10 at CIFAR size, 1000 at ImageNet size
    seed        a list of integers, one a replica: replica k is the single network of its seed, to the bit; an
                integer stands for seed, seed + 1, ...
    conv_dtype  the type that convolutions compute in; the state stays in float32 or wider
    pretrained  the data set of the trained weights that come with the package (`list_pretrained`), or True for the
                only ones; with another `num_classes` the classifier is drawn anew
    options     `stage_change` for all: "project-each", "project-shared" or "restart"; for trained coefficients
                `start`, the scheme(s) to start from, and `shared=True` for one set in all blocks; for `lmresnetN`
                `beta`: "original" (1), "consistent" (1 + k) or "paper" (1 + 2k); for `zerosnetN_stable` `order` (1, 2)
                and `steps`

    >>> model = create_model("zerosnet20", scheme="1/3,5/9,1/9;16/9", in_chans=1)
    >>> model(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    config = configure(name, scheme=scheme, num_classes=num_classes, in_chans=in_chans, replicas=replicas, **options)
    network = _trained(config, pretrained) if pretrained else Network(config, _seeds(seed, replicas))
    network.conv_dtype = conv_dtype
    return network


def _trained(config: Config, tag: str | bool) -> Network:
    """A trained network of this kind, its classifier drawn anew where the classes are others."""
    name = tagged(config.name, tag)
    network = load_model(name)
    if replace(config, num_classes=network.num_classes) != network.config:
        raise InputError(f"{name} is a single network of {network.in_chans} channels; leave other options out")
    if config.num_classes != network.num_classes:
        network.reset_classifier(config.num_classes)
    return network


def configure(
    name: str,
    *,
    scheme: AnyScheme | Sequence[AnyScheme] | None = None,
    num_classes: int | None = None,
    in_chans: int = 3,
    replicas: int = 1,
    **options: Any,
) -> Config:
    """What `create_model` builds from these arguments, as a value."""
    entry = find_entry(name)
    check_integer("replicas", replicas, 1)
    structure = entry.structure
    return Config(
        structure=structure,
        num_classes=structure.traits.num_classes if num_classes is None else num_classes,
        in_chans=in_chans,
        replicas=replicas,
        name=name,
        **_coefficient_fields(entry, scheme, replicas, options),
    )


def find_entry(name: str) -> Entry:
    if not isinstance(name, str) or name not in REGISTRY:
        depths = ", ".join(map(str, sorted(STRUCTURES)))
        forms = ", ".join(f"{front}N{back}" for front, back in FAMILIES)
        raise InputError(f"unknown model {name!r}; expected {forms} with N one of {depths}")
    return REGISTRY[name]


def _coefficient_fields(
    entry: Entry, scheme: AnyScheme | Sequence[AnyScheme] | None, replicas: int, options: dict[str, Any]
) -> dict[str, Any]:
    family, name = entry.family, entry.name
    fields = {"stage_change": options.pop("stage_change", family.stage_change)}
    if scheme is not None and not family.takes_scheme:
        raise InputError(f"{name} takes no scheme; the bare {name.rpartition('_')[0]} does")
    if scheme is not None or family.law is None:
        given = family.scheme if scheme is None else scheme
        _refuse(options, (), family, f"{name} with a fixed scheme")
        if given is None:
            raise InputError(f'{name} needs a scheme, such as scheme="zerosnet(-9/5)"; {name}_opt needs none')
        return {**fields, "schemes": _one_a_replica(given, replicas, family.steps)}
    own = {option: options.pop(option) for option in family.options if option in options}
    start, shared = options.pop("start", None), options.pop("shared", False)
    _refuse(options, ("start", "shared", *family.options), family, name)
    return {
        **fields,
        "law": family.law(**own),
        "shared": shared,
        "schemes": () if start is None else _one_a_replica(start, replicas, None),
    }


def _refuse(left: dict[str, Any], accepted: tuple[str, ...], family: ModelFamily, whose: str) -> None:
    if left:
        known = ", ".join((*(("scheme",) if family.takes_scheme else ()), "stage_change", *accepted))
        raise InputError(f"unknown option {next(iter(left))!r} for {whose}; it takes {known}")


def _one_a_replica(given: AnyScheme | Sequence[AnyScheme], replicas: int, steps: int | None) -> tuple[Scheme, ...]:
    if not isinstance(given, Scheme | str | Sequence):
        raise InputError(f"scheme is {given!r}; expected a Scheme, its text, or a list of them")
    each = [given] * replicas if isinstance(given, Scheme | str) else list(given)
    if len(each) != replicas:
        raise InputError(f"{len(each)} schemes given for replicas={replicas}; expected one, or one a replica")
    schemes = tuple(Scheme.parse(s) if isinstance(s, str) else s for s in each)
    for s in schemes:
        if not isinstance(s, Scheme):
            raise InputError(f"scheme is {s!r}; expected a Scheme, its text, or a list of them")
        if steps is not None and s.steps != steps:
            raise InputError(f"scheme is {s}, with {s.steps} steps; expected {steps}, or use the bare zerosnet")
    return schemes


def _seeds(seed: int | Sequence[int] | None, replicas: int) -> list[int] | None:
    if seed is None:
        return None
    for one in seed if isinstance(seed, Sequence) else [seed]:
        if not isinstance(one, int) or not -(2**63) <= one < 2**63 - replicas:
            raise InputError(f"seed is {seed!r}; expected a whole number below 2^63, or a list of them")
    seeds = list(range(seed, seed + replicas)) if isinstance(seed, int) else list(seed)
    if len(seeds) != replicas:
        raise InputError(f"{len(seeds)} seeds given for replicas={replicas}; expected one a replica")
    return seeds

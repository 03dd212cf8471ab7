"""Networks by name: a family, its depth, and how its coefficients are found, such as zerosnet56_opt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

import torch

from zerosnet.errors import InputError
from zerosnet.models.config import Config, check_integer
from zerosnet.models.families import FAMILIES, ModelFamily
from zerosnet.models.io.weights import load_model
from zerosnet.models.network import Network
from zerosnet.models.pretrained import tagged
from zerosnet.models.stepping.streams import StreamsLaw
from zerosnet.models.structure import Structure, check_model, find_name
from zerosnet.numerics import Number, Scheme, number

AnyScheme = Scheme | str
AnyNumber = int | float | str | Fraction


@dataclass(frozen=True)
class Entry:
    """A registered network."""

    name: str
    family: ModelFamily = field(repr=False)
    structure: Structure


REGISTRY: Mapping[str, Entry] = {
    f"{front}{depth}{back}": Entry(f"{front}{depth}{back}", family, family.structures[depth])
    for (front, back), family in FAMILIES.items()
    for depth in family.form.depths
}


def list_models(pattern: str = "*") -> list[str]:
    """Registered names that match a shell pattern such as "zerosnet*"."""
    return [name for name in REGISTRY if fnmatchcase(name, pattern)]


def create_model(
    name: str,
    *,
    scheme: AnyScheme | Sequence[AnyScheme] | None = None,
    block_schemes: Sequence[AnyScheme] | Sequence[Sequence[AnyScheme]] | None = None,
    beta_growth: AnyNumber | Sequence[AnyNumber] | None = None,
    init_growth: AnyNumber | Sequence[AnyNumber] | None = None,
    num_classes: int | None = None,
    in_chans: int = 3,
    replicas: int = 1,
    seed: int | Sequence[int] | None = None,
    conv_dtype: torch.dtype | None = None,
    pretrained: str | bool = False,
    **options: Any,
) -> Network:
    """Build a network by name.

    Args:
        name: A family, a depth and a variant, such as "zerosnet56_opt"; see `list_models`.
        scheme: A Scheme or its text, or a list of them, one per replica. The bare `zerosnetN` needs one; `preresnetN`
            takes a one-step scheme, `lmresnetN` a two-step one, which fixes its coefficients.
        block_schemes: A scheme per multistep block, in place of `scheme`; or a scheme per block, start-up blocks
            included, with coefficients 0 for states that do not exist yet. Nested for replicas: one list per replica.
        beta_growth: A positive number R: the betas of multistep block n = 0, 1, ... are multiplied by R^n. Text such
            as "1.839" is exact. A list has one per replica.
        init_growth: A positive number R: the initial weights of the last convolution in multistep block n are
            multiplied by R^n. With one beta that is the function of `beta_growth` at the start, trained otherwise.
        num_classes: 10 at CIFAR size and 1000 at ImageNet size if not given.
        in_chans: Channels of the images.
        replicas: How many networks stand side by side.
        seed: A list of integers, one per replica: replica k is the single network of its seed, to the bit. An integer
            stands for seed, seed + 1, ...
        conv_dtype: The type that convolutions compute in; the state stays in float32 or wider.
        pretrained: The data set of the trained weights that come with the package (`list_pretrained`), or True for the
            only ones. With another `num_classes` the classifier is drawn anew, from `seed` if given.
        options: `stage_change` for all: "project-each", "project-shared" or "restart". For trained coefficients
            `start`, the scheme(s) to start from, and `shared=True` for one set in all blocks. For `lmresnetN`
            `beta`: "original" (1), "consistent" (1 + k) or "paper" (1 + 2k). For `zerosnetN_stable` `order` (1, 2)
            and `steps`; for `zerosnetN_simplex` `steps`; for `streamsN` and `streamsN_sinkhorn` `streams`.

    Examples:
        >>> model = create_model("zerosnet20", scheme="1/3,5/9,1/9;16/9", in_chans=1)
        >>> model(torch.zeros(2, 1, 28, 28)).shape
        torch.Size([2, 10])
    """
    config = configure(
        name,
        scheme=scheme,
        block_schemes=block_schemes,
        beta_growth=beta_growth,
        init_growth=init_growth,
        num_classes=num_classes,
        in_chans=in_chans,
        replicas=replicas,
        **options,
    )
    seeds = _seeds(seed, replicas)
    network = _trained(config, pretrained, seeds) if pretrained else Network(config, seeds)
    network.conv_dtype = conv_dtype
    return network


def _trained(config: Config, tag: str | bool, seeds: list[int] | None) -> Network:
    """Load a trained network of this kind; its classifier is drawn anew if the number of classes is another."""
    name = tagged(config.name, tag)
    network = load_model(name)
    if replace(config, num_classes=network.num_classes) != network.config:
        raise InputError(f"{name} is a single network of {network.in_chans} channels; leave other options out")
    if config.num_classes != network.num_classes:
        network.reset_classifier(config.num_classes, seeds=seeds)
    return network


def configure(
    name: str,
    *,
    scheme: AnyScheme | Sequence[AnyScheme] | None = None,
    block_schemes: Sequence[AnyScheme] | Sequence[Sequence[AnyScheme]] | None = None,
    beta_growth: AnyNumber | Sequence[AnyNumber] | None = None,
    init_growth: AnyNumber | Sequence[AnyNumber] | None = None,
    num_classes: int | None = None,
    in_chans: int = 3,
    replicas: int = 1,
    **options: Any,
) -> Config:
    """Make the value that `create_model` builds a network from; see there for the arguments."""
    entry = find_entry(name)
    check_integer("replicas", replicas, 1)
    structure = entry.structure
    return Config(
        structure=structure,
        num_classes=structure.traits.num_classes if num_classes is None else num_classes,
        in_chans=in_chans,
        replicas=replicas,
        name=name,
        **_coefficient_fields(entry, scheme, block_schemes, beta_growth, replicas, options),
        init_growth=() if init_growth is None else _growths("init_growth", init_growth, replicas),
    )


def find_entry(name: str) -> Entry:
    """Find a registered network by name."""
    find_name(name)
    return REGISTRY[name]


def _coefficient_fields(
    entry: Entry,
    scheme: AnyScheme | Sequence[AnyScheme] | None,
    block_schemes: Sequence[Any] | None,
    beta_growth: AnyNumber | Sequence[AnyNumber] | None,
    replicas: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    family, name = entry.family, entry.name
    fields: dict[str, Any] = {"stage_change": options.pop("stage_change", family.stage_change)}
    if scheme is not None and block_schemes is not None:
        raise InputError("scheme and block_schemes are both given; expected one of them")
    if scheme is not None or block_schemes is not None:
        check_model(name, block_schemes=True)
    if beta_growth is not None:
        fields["beta_growth"] = _growths("beta_growth", beta_growth, replicas)
    if scheme is not None or block_schemes is not None or family.law is None:
        _refuse(options, ("beta_growth", "init_growth"), family, f"{name} with a fixed scheme")
        if block_schemes is not None:
            return {**fields, "block_schemes": _lists_per_replica(block_schemes, replicas, family.form.steps)}
        if family.block_schemes is not None:
            each = family.block_schemes(sum(entry.structure.blocks))
            return {**fields, "block_schemes": (each,) * replicas}
        given = family.form.scheme if scheme is None else scheme
        if given is None:
            check_model(name)
        assert given is not None, "a name that needs a scheme was refused"
        return {**fields, "schemes": _one_per_replica(given, replicas, family.form.steps)}
    own = {option: options.pop(option) for option in family.options if option in options}
    law = family.law(**own)
    schemes = () if isinstance(law, StreamsLaw) else ("start", "shared")
    start, shared = (options.pop(option, None) if option in schemes else None for option in ("start", "shared"))
    _refuse(options, ("init_growth", *schemes, *family.options), family, name)
    return {
        **fields,
        "law": law,
        "shared": False if shared is None else shared,
        "schemes": () if start is None else _one_per_replica(start, replicas, None),
    }


def _refuse(left: dict[str, Any], accepted: tuple[str, ...], family: ModelFamily, whose: str) -> None:
    if left:
        schemes = ("scheme", "block_schemes") if family.form.takes_scheme else ()
        known = ", ".join((*schemes, "stage_change", *accepted))
        raise InputError(f"unknown option {next(iter(left))!r} for {whose}; it takes {known}")


def _one_per_replica(given: AnyScheme | Sequence[AnyScheme], replicas: int, steps: int | None) -> tuple[Scheme, ...]:
    if not isinstance(given, Scheme | str | Sequence):
        raise InputError(f"scheme is {given!r}; expected a Scheme, its text, or a list of them")
    each = [given] * replicas if isinstance(given, Scheme | str) else list(given)
    if len(each) != replicas:
        raise InputError(f"{len(each)} schemes given for replicas={replicas}; expected one, or one per replica")
    return _parsed(each, steps, "scheme")


def _lists_per_replica(given: Sequence[Any], replicas: int, steps: int | None) -> tuple[tuple[Scheme, ...], ...]:
    if isinstance(given, Scheme | str) or not isinstance(given, Sequence) or not given:
        raise InputError(f"block_schemes is {given!r}; expected a list of schemes, or one such list per replica")
    nested = [isinstance(one, Sequence) and not isinstance(one, str) for one in given]
    if any(nested) and not all(nested):
        raise InputError("block_schemes holds schemes beside lists; expected schemes, or one list of them per replica")
    lists = list(given) if all(nested) else [given] * replicas
    if len(lists) != replicas:
        raise InputError(f"block_schemes has {len(lists)} lists for replicas={replicas}; expected one per replica")
    return tuple(_parsed(one, steps, "block_schemes") for one in lists)


def _parsed(given: Sequence[Any], steps: int | None, argument: str) -> tuple[Scheme, ...]:
    schemes = tuple(Scheme.parse(s) if isinstance(s, str) else s for s in given)
    for s in schemes:
        if not isinstance(s, Scheme):
            raise InputError(f"{argument} is {s!r}; expected a Scheme, its text, or a list of them")
        if steps is not None and s.steps != steps:
            raise InputError(f"{argument} is {s}, with {s.steps} steps; expected {steps}, or use the bare zerosnet")
    return schemes


def _growths(argument: str, given: Any, replicas: int) -> tuple[Number, ...]:
    each = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given] * replicas
    if len(each) != replicas:
        raise InputError(f"{argument} has {len(each)} numbers for replicas={replicas}; expected one per replica")
    return tuple(number(one, argument) for one in each)


def _seeds(seed: int | Sequence[int] | None, replicas: int) -> list[int] | None:
    if seed is None:
        return None
    for one in seed if isinstance(seed, Sequence) else [seed]:
        if not isinstance(one, int) or not -(2**63) <= one < 2**63 - replicas:
            raise InputError(f"seed is {seed!r}; expected a whole number below 2^63, or a list of them")
    seeds = list(range(seed, seed + replicas)) if isinstance(seed, int) else list(seed)
    if len(seeds) != replicas:
        raise InputError(f"{len(seeds)} seeds given for replicas={replicas}; expected one per replica")
    return seeds

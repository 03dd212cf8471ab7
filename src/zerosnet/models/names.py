"""The names of networks, without the networks: what is wrong with a name is told before torch is loaded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zerosnet.errors import InputError, did_you_mean
from zerosnet.numerics import EULER, OPTIMUM, Scheme

BASIC_DEPTHS = (20, 32, 44, 56, 110)
BOTTLENECK_DEPTHS = (164, 326, 650, 1298)
IMAGENET_DEPTHS = (18, 34, 50, 101, 152)
_DEPTHS = tuple(sorted(BASIC_DEPTHS + BOTTLENECK_DEPTHS + IMAGENET_DEPTHS))


@dataclass(frozen=True)
class NameForm:
    """The networks whose names differ in depth only, and the schemes that they take.

    Attributes:
        depths: What may stand for the depth.
        takes_scheme: Whether a scheme can be given.
        needs_scheme: Whether one must be given.
        steps: The number of steps that it must have; None for any.
        scheme: The fixed scheme if none is given; None if one is needed, or coefficients are trained.
    """

    depths: tuple[int, ...] = _DEPTHS
    takes_scheme: bool = True
    needs_scheme: bool = False
    steps: int | None = None
    scheme: Scheme | None = None


FORMS: Mapping[tuple[str, str], NameForm] = {
    ("preresnet", ""): NameForm(steps=1, scheme=EULER),
    ("lmresnet", ""): NameForm(steps=2),
    ("zerosnet", ""): NameForm(needs_scheme=True),
    ("zerosnet", "_opt"): NameForm(takes_scheme=False, scheme=OPTIMUM),
    ("zerosnet", "_tra"): NameForm(takes_scheme=False),
    ("zerosnet", "_stable"): NameForm(takes_scheme=False),
    ("zerosnet", "_simplex"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_gains"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_scaled"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_x0"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("streams", ""): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("streams", "_sinkhorn"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_nonorm"): NameForm(BASIC_DEPTHS, steps=1, scheme=EULER),
    ("zerosnet", "_nonorm"): NameForm(BASIC_DEPTHS, needs_scheme=True),
}
"""(front, back) of a name; the depth stands between them."""

NAMES: Mapping[str, tuple[NameForm, int]] = {
    f"{front}{depth}{back}": (form, depth) for (front, back), form in FORMS.items() for depth in form.depths
}
"""All names of networks: form and depth of each."""


def find_name(name: str) -> tuple[NameForm, int]:
    """Find form and depth of a network by its name."""
    if not isinstance(name, str) or name not in NAMES:
        raise InputError(f"unknown model {name!r}{did_you_mean(name, NAMES)}; expected {'; or '.join(_forms())}")
    return NAMES[name]


def check_model(name: str, scheme: Scheme | None = None, *, block_schemes: bool = False) -> None:
    """Raise an error if there is no network of that name, or none with this scheme.

    Args:
        name: The network's name.
        scheme: The scheme that it is to have; None for its own.
        block_schemes: Whether it is to have a scheme per block instead.
    """
    form, _ = find_name(name)
    given = scheme is not None or block_schemes
    if given and not form.takes_scheme:
        raise InputError(f"{name} takes no scheme; the bare {name.rpartition('_')[0]} does")
    if form.needs_scheme and not given:
        without = f"; {name}_opt needs none" if f"{name}_opt" in NAMES else ""
        raise InputError(f'{name} needs a scheme, such as "zerosnet(-9/5)"{without}')
    if scheme is not None and form.steps not in (None, scheme.steps):
        raise InputError(
            f"scheme is {scheme}, with {scheme.steps} steps; expected {form.steps}, or use the bare zerosnet"
        )


def _forms() -> Iterator[str]:
    """List the forms of names, those with the same depths together."""
    for depths in dict.fromkeys(form.depths for form in FORMS.values()):
        alike = ", ".join(f"{front}N{back}" for (front, back), form in FORMS.items() if form.depths == depths)
        yield f"{alike} with N one of {', '.join(map(str, depths))}"

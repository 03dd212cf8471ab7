"""The names of the protocols, and the options that each takes: known without torch.

Smoothing has a protocol for every noise: `smoothing` for the usual one, and `smoothing-0.5`, say, for another. So the
noise is a part of what a result is called, and results of different noises never take each other's place.
"""

from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import is_number

TAKES: dict[str, tuple[str, ...]] = {
    "paper-noise": (),
    "paper-fgsm": (),
    "paper-pgd": (),
    "pgd-whitebox": ("restarts", "eps"),
    "autoattack": ("eps",),
    "corruptions": (),
    "smoothing": ("samples", "sigma"),
}
SMOOTHING = "smoothing"
SIGMA = 0.25
LARGEST_SIGMA = 2.0  # of images in [0, 1]: at twice their range nothing of them is left
_DIGITS = ".9g"


def require_sigma(sigma: float) -> None:
    """Raise an error unless sigma is the deviation of a noise for images in [0, 1]."""
    if not (is_number(sigma) and 0 < sigma <= LARGEST_SIGMA):
        raise InputError(
            f"sigma is {sigma!r}; expected a number above 0, at most {LARGEST_SIGMA:g}: the deviation of noise on "
            "images in [0, 1]"
        )


def smoothing_name(sigma: float) -> str:
    """Name the protocol that smooths by noise of this deviation.

    Examples:
        >>> smoothing_name(0.25), smoothing_name(0.5)
        ('smoothing', 'smoothing-0.5')
    """
    require_sigma(sigma)
    return SMOOTHING if sigma == SIGMA else f"{SMOOTHING}-{sigma:{_DIGITS}}"


def sigma_of(name: str) -> float | None:
    """Read the deviation of the noise from a protocol's name; None if it is no protocol of smoothing.

    Examples:
        >>> sigma_of("smoothing"), sigma_of("smoothing-0.5"), sigma_of("paper-noise")
        (0.25, 0.5, None)
    """
    if name == SMOOTHING:
        return SIGMA
    try:
        sigma = float(name.removeprefix(f"{SMOOTHING}-"))
        return sigma if smoothing_name(sigma) == name else None
    except ValueError:
        return None


def check_options(name: str, **given: object) -> None:
    """Raise an error unless there is a protocol of that name, and it takes the options that are given (not None)."""
    if name in TAKES:
        takes = TAKES[name]
    elif sigma_of(name) is not None:
        takes = ("samples",)
    else:
        raise InputError(f"protocol is {name!r}{did_you_mean(name, TAKES)}; expected one of {', '.join(TAKES)}")
    for option, value in given.items():
        if value is not None and option not in takes:
            able = ", ".join(one for one, others in TAKES.items() if option in others)
            raise InputError(f"{option} is given; protocol {name} does not take it, expected one that does: {able}")

"""Requests as typed values: which scheme is meant, and which numbers go with it.

The models describe the parameters to OpenAPI and refuse unknown ones; what they hold is text until it has been counted.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from zerosnet.errors import InputError
from zerosnet.explorer import limits
from zerosnet.explorer.limits import BadParameter, numbers_in
from zerosnet.numerics import FAMILIES, LM_BETAS, Scheme
from zerosnet.numerics import family as family_named

T = TypeVar("T")
_FAMILIES = ", ".join(FAMILIES)


class NamedScheme(BaseModel):
    """A scheme, named by its coefficients or as a member of a family."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alphas: str | None = Field(None, description="Weights of the states, newest first.", examples=["1/3,5/9,1/9"])
    betas: str | None = Field(None, description="Weights of the slopes, newest first.", examples=["16/9"])
    family: str | None = Field(None, description=f"One of {_FAMILIES}.", examples=["zerosnet"])
    param: str | None = Field(None, description="The family's parameter; several for from-roots.", examples=["-9/5"])
    beta: str | None = Field(None, description=f"For lm: {', '.join(LM_BETAS)}.", examples=["paper"])

    def scheme(self) -> Scheme:
        """The scheme that was named in exactly one way, of at most eight steps."""
        by_coefficients = self.alphas is not None or self.betas is not None
        if by_coefficients == (self.family is not None):
            which = "more than one way to name a scheme" if by_coefficients else "no scheme is named"
            raise BadParameter("family", f"{which}; expected alphas and betas, or family and param")
        return self._free() if by_coefficients else self._member()

    def parameters(self) -> list[str]:
        """The family's parameters as they were written."""
        return [] if self.param is None else numbers_in(self.param, "param")

    def member(self, parameters: list[str]) -> Scheme:
        """The member of the same family with other parameters."""
        options = {} if self.beta is None else {"beta": self.beta}
        return family_named(self.family or "").member(*parameters, **options)

    def text(self) -> str:
        """How the command line and `Scheme.parse` call it."""
        if self.family is None:
            return str(self.scheme())
        name = family_named(self.family).name
        inside = ", ".join([*self.parameters(), *([] if self.beta is None else [f"beta={self.beta}"])])
        return f"{name}({inside})" if inside else name

    def _free(self) -> Scheme:
        for name in ("param", "beta"):
            if getattr(self, name) is not None:
                raise BadParameter(name, f"{name} is given without family")
        groups = []
        for name, text in (("alphas", self.alphas), ("betas", self.betas)):
            if text is None:
                raise BadParameter(name, f"{name} is missing; alphas and betas go together")
            parts = numbers_in(text, name)
            groups.append(checked(name, partial(Scheme, parts, [1])).alphas)
        return Scheme(*groups)

    def _member(self) -> Scheme:
        family = checked("family", lambda: family_named(self.family or ""))
        if self.beta is not None and (family.name != "lm" or self.beta not in LM_BETAS):
            raise BadParameter("beta", f"beta is {self.beta[:40]!r}; expected, for lm, one of {', '.join(LM_BETAS)}")
        parameters = self.parameters()
        scheme = checked("param", lambda: self.member(parameters))
        if scheme.steps > limits.MOST_STEPS:
            raise BadParameter("param", f"param gives {scheme.steps} steps; expected at most {limits.MOST_STEPS}")
        return scheme


class Envelope(NamedScheme):
    blocks: int = Field(27, ge=1, le=limits.MOST_BLOCKS, description="Blocks of the network.")


class Region(NamedScheme):
    nx: int = Field(121, ge=2, le=limits.MOST_GRID_POINTS, description="Grid points along the real axis.")
    ny: int = Field(121, ge=2, le=limits.MOST_GRID_POINTS, description="Grid points along the imaginary axis.")
    left: float | None = Field(None, ge=-limits.FARTHEST, le=limits.FARTHEST, description="Window; by default a fit.")
    right: float | None = Field(None, ge=-limits.FARTHEST, le=limits.FARTHEST)
    bottom: float | None = Field(None, ge=-limits.FARTHEST, le=limits.FARTHEST)
    top: float | None = Field(None, ge=-limits.FARTHEST, le=limits.FARTHEST)

    def window(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """Limits of re and im, or None for those that fit the region."""
        given = {name: getattr(self, name) for name in ("left", "right", "bottom", "top")}
        missing = [name for name, value in given.items() if value is None]
        if len(missing) == 4:
            return None
        if missing:
            raise BadParameter(missing[0], f"{missing[0]} is missing; a window has left, right, bottom and top")
        for low, high in (("left", "right"), ("bottom", "top")):
            if not given[low] < given[high]:
                raise BadParameter(high, f"{high} is {given[high]:g}; expected more than {low}, {given[low]:g}")
        return (given["left"], given["right"]), (given["bottom"], given["top"])


class ForecastOf(NamedScheme):
    layers: int = Field(56, description="Layers of the network: 20, 32, 44, 56, 110, 164, 326, 650 or 1298.")


class View(Region, Envelope):
    pass


class Locus(NamedScheme):
    vary: str = Field(
        "param",
        max_length=9,
        pattern=r"^(param|root[0-7]|alpha[0-7]|beta[0-7])$",
        description="What moves: param, root0 .. root7, alpha0 .. alpha7 or beta0 .. beta7.",
    )
    low: float = Field(-3, ge=-limits.FARTHEST, le=limits.FARTHEST)
    high: float = Field(3, ge=-limits.FARTHEST, le=limits.FARTHEST)
    points: int = Field(301, ge=2, le=limits.MOST_PATH_POINTS, description="Parameters from low to high.")

    def range(self) -> tuple[float, float]:
        if not self.low < self.high:
            raise BadParameter("high", f"high is {self.high:g}; expected more than low, {self.low:g}")
        return self.low, self.high


def checked(name: str, build: Callable[[], T]) -> T:
    """What `build` makes; an error it raises is about the parameter `name`."""
    try:
        return build()
    except InputError as error:
        raise BadParameter(name, str(error)) from None

"""Families of schemes as first-class objects, and the text that names a member: "zerosnet(-9/5)", "lm(1/2, paper)"."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zerosnet.errors import InputError, did_you_mean
from zerosnet.numerics.methods import members
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.parameter_set import ParameterSet
from zerosnet.numerics.stability.stable_set import Alphas, solve_stable_set
from zerosnet.numerics.stability.verdict import is_zero_stable

_REALS = ParameterSet.reals()


@dataclass(frozen=True)
class Family:
    """A family of schemes.

    Attributes:
        parameter: The parameter's name in text; empty for a family of one member.
        symbol: The parameter's name in LaTeX; empty for a family of one member.
        domain: The real parameters for which there is a member.
        formula: The scheme in LaTeX, without delimiters.
        alphas: The weights of the states as functions of a real parameter; None if the parameter is not a real number.
    """

    name: str
    parameter: str
    symbol: str
    description: str
    formula: str
    build: Callable[..., Scheme]
    domain: ParameterSet = _REALS
    alphas: Alphas | None = None

    def member(self, *parameters: Any, **options: Any) -> Scheme:
        """The scheme with these parameters; the first may be given by its name, even if that is a Python keyword."""
        first = self._first()
        options = {first if name == self.parameter else name: value for name, value in options.items()}
        try:
            inspect.signature(self.build).bind(*parameters, **options)
        except TypeError as error:
            problem = str(error).replace(f"'{first}'", f"'{self.parameter}'")
            raise InputError(f"family {self.name}: {problem}; expected {self.usage}") from None
        return self.build(*parameters, **options)

    __call__ = member

    @property
    def usage(self) -> str:
        """The text of a member, "lm(k, beta=consistent)"."""
        parameters = inspect.signature(self.build).parameters.values()
        names = [self.parameter if p.name == self._first() else p.name for p in parameters]
        shown = [name if p.default in (p.empty, ()) else f"{name}={p.default}" for name, p in zip(names, parameters)]
        return f"{self.name}({', '.join(shown)})" if shown else self.name

    def _first(self) -> str:
        """The parameter's name in Python, "lam" for lambda; empty if there is no parameter, or any number of them."""
        parameters = list(inspect.signature(self.build).parameters.values())
        return parameters[0].name if parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL else ""

    def stable_set(self) -> ParameterSet:
        """The exact set of parameters whose member is zero-stable.

        A family of one member has the real line (or nothing). From prescribed roots it is solved for a single
        parasitic root; with several, all must lie in it or be complex in the closed disc, those on the circle simple.
        """
        if self.alphas is not None:
            return solve_stable_set(self.alphas)
        if not self.parameter:
            return self.domain if is_zero_stable(self.build()) else ParameterSet()
        values = [interval.low for interval in self.domain.intervals]
        return ParameterSet.points(x for x in values if is_zero_stable(self.build(x)))


_ALL = (
    Family(
        "euler",
        "alpha",
        r"\alpha",
        "Euler's step with a weight on the state (PreResNet at alpha = 1, the only consistent member)",
        r"y_{n+1} = \alpha y_n + h f(y_n)",
        members.euler,
        alphas=lambda alpha: (alpha,),
    ),
    Family(
        "lm",
        "k",
        "k",
        "LM-ResNet; beta is consistent (1+k), paper (2k+1) or original (1)",
        r"y_{n+1} = (1-k) y_n + k y_{n-1} + (1+k) h f(y_n)",
        members.lm,
        alphas=members.lm_alphas,
    ),
    Family(
        "zerosnet",
        "lambda",
        r"\lambda",
        "ZeroSNet: three steps, one slope, order 2",
        r"y_{n+1} = \frac{3(1+\lambda)}{4\lambda} y_n - \frac{1}{\lambda} y_{n-1} + \frac{1+\lambda}{4\lambda} y_{n-2}"
        r" + \frac{3\lambda-1}{2\lambda} h f(y_n)",
        members.zerosnet,
        domain=ParameterSet.reals(without=[0]),
        alphas=members.zerosnet_alphas,
    ),
    Family(
        "leapfrog",
        "",
        "",
        "The leap-frog scheme, weakly stable, order 2",
        r"y_{n+1} = y_{n-1} + 2 h f(y_n)",
        members.leapfrog,
    ),
    Family(
        "momentum",
        "gamma",
        r"\gamma",
        "Momentum ResNet; LM with k = -gamma",
        r"y_{n+1} = (1+\gamma) y_n - \gamma y_{n-1} + (1-\gamma) h f(y_n)",
        members.momentum,
        alphas=members.momentum_alphas,
    ),
    Family(
        "adams-bashforth",
        "k",
        "k",
        "Adams-Bashforth: k steps, k slopes, order k",
        r"y_{n+1} = y_n + h \sum_{j=0}^{k-1} \beta_j f(y_{n-j})",
        members.adams_bashforth,
        domain=ParameterSet.points(range(1, members.MOST_ADAMS_BASHFORTH_STEPS + 1)),
    ),
    Family(
        "from-roots",
        "r",
        "r_i",
        "The consistent scheme with one slope and prescribed parasitic roots",
        r"\rho(z) = (z-1) \prod_i (z - r_i), \quad \beta = \rho'(1)",
        lambda *roots: members.from_roots(roots),
        alphas=members.momentum_alphas,
    ),
)

FAMILIES: dict[str, Family] = {each.name: each for each in _ALL}

_CALL = re.compile(r"\s*([A-Za-z][\w-]*?)\s*(?:\((.*)\))?\s*")
_SHORT_ADAMS_BASHFORTH = re.compile(r"ab(\d+)")


def family(name: str) -> Family:
    """The family of that name; dashes and underscores, small and capital letters are alike."""
    key = name.strip().lower().replace("_", "-")
    if key not in FAMILIES:
        raise InputError(
            f"unknown family {name!r}{did_you_mean(name, FAMILIES)}; expected one of {', '.join(FAMILIES)}"
        )
    return FAMILIES[key]


def parse_member(text: str) -> Scheme:
    """Read "zerosnet(-9/5)", "lm(1/2, beta=paper)", "leapfrog", "ab3" or "from-roots(-1/3, z^2+1/9)".

    Numbers in text are exact.
    """
    short = _SHORT_ADAMS_BASHFORTH.fullmatch(text.strip())
    match = _CALL.fullmatch(f"adams-bashforth({short.group(1)})" if short else text)
    if match is None:
        raise InputError(
            f'scheme is {text!r}; expected "alphas;betas" such as "1,1,1;1", or a family such as "zerosnet(-9/5)"'
        )
    name, inside = match.groups()
    parameters: list[str] = []
    options: dict[str, str] = {}
    for part in inside.split(",") if inside and inside.strip() else []:
        key, equals, value = part.partition("=")
        if equals and key.strip() in options:
            raise InputError(f"scheme {text!r} gives {key.strip()} twice")
        if equals:
            options[key.strip()] = value.strip()
        else:
            parameters.append(part.strip())
    return family(name).member(*parameters, **options)

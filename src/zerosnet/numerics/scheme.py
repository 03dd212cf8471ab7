"""The value that runs through the whole project: a linear multistep scheme."""

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from zerosnet.errors import InputError
from zerosnet.numerics import rationals as num
from zerosnet.numerics.rationals import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

_LONGEST_NAME = 24


@dataclass(frozen=True, eq=False, repr=False)
class Scheme:
    """An explicit linear multistep scheme, which is also a residual network without its weights:

        y_{n+1} = sum_i alphas[i] y_{n-i} + h sum_j betas[j] f(y_{n-j})

    Coefficients given as ints, fractions, strings or sympy rationals stay exact; floats stay floats. An exact scheme
    and a float one are different values, even if their numbers agree.

    A text alone is read by `parse`.

    Examples:
        >>> Scheme(["1/3", "5/9", "1/9"], ["16/9"])
        Scheme('zerosnet(-9/5)')
        >>> Scheme("zerosnet(-9/5)") == Scheme("1/3,5/9,1/9;16/9")
        True
    """

    alphas: tuple[Number, ...]
    betas: tuple[Number, ...]

    def __init__(self, alphas: Iterable[Any], betas: Iterable[Any] | None = None) -> None:
        if betas is None:
            known = self.of(alphas)
            alphas, betas = known.alphas, known.betas
        object.__setattr__(self, "alphas", _coefficients(alphas, "alphas"))
        object.__setattr__(self, "betas", _coefficients(betas, "betas"))

    @property
    def steps(self) -> int:
        """The number of past states or slopes that one step looks back on."""
        return max(len(self.alphas), len(self.betas))

    @property
    def is_exact(self) -> bool:
        return all(map(num.is_exact, self.alphas + self.betas))

    @property
    def name(self) -> str:
        """The shortest text that `parse` reads as this scheme: "zerosnet(-9/5)", or its coefficients."""
        from zerosnet.numerics.methods.naming import name_of

        return name_of(self)

    @property
    def short_name(self) -> str:
        """The name; if it is long, the coefficients to three digits after "≈".

        Examples:
            >>> Scheme.parse("1/3,5/9,1/9;16/9").short_name
            'zerosnet(-9/5)'
            >>> Scheme.parse("31/100,856497/1000000,-97239663/500000000;5/4").short_name
            '≈0.31,0.856,-0.194;1.25'
        """
        if len(self.name) <= _LONGEST_NAME:
            return self.name
        return "≈" + ";".join(",".join(f"{float(c):.3g}" for c in group) for group in (self.alphas, self.betas))

    @property
    def rho(self) -> tuple[Number, ...]:
        """First characteristic polynomial, z^d - sum_i alphas[i] z^(d-1-i), highest power first."""
        padding = (Fraction(0),) * (self.steps - len(self.alphas))
        return (Fraction(1), *(-a for a in self.alphas), *padding)

    @property
    def sigma(self) -> tuple[Number, ...]:
        """Second characteristic polynomial, sum_j betas[j] z^(d-1-j), highest power first."""
        return (*self.betas, *(Fraction(0),) * (self.steps - len(self.betas)))

    def to_float(self) -> Self:
        """The same scheme with coefficients rounded to floats."""
        return type(self)(map(float, self.alphas), map(float, self.betas))

    # -- text, LaTeX, JSON ------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any) -> "Scheme":
        """Return a scheme that is one already, or read its text."""
        if isinstance(given, Scheme):
            return given
        if not isinstance(given, str):
            raise InputError(f'scheme is {given!r}; expected a Scheme, or a text such as "zerosnet(-9/5)"')
        return cls.parse(given)

    @classmethod
    def parse(cls, text: str) -> "Scheme":
        """Read "1/3,5/9,1/9;16/9" (alphas;betas) or a family and its parameters, "zerosnet(-9/5)".

        Numbers in text are exact: the text of an exact scheme gives that scheme, that of a float one its decimals.
        """
        alphas, semicolon, betas = text.partition(";")
        if semicolon:
            return cls(num.numbers(alphas, "alphas"), num.numbers(betas, "betas"))
        from zerosnet.numerics.methods.families import parse_member

        return parse_member(text)

    def __str__(self) -> str:
        return ";".join(",".join(map(str, group)) for group in (self.alphas, self.betas))

    def __repr__(self) -> str:
        if self.is_exact:
            return f"Scheme({self.name!r})"
        alphas, betas = ([num.to_json(c) for c in group] for group in (self.alphas, self.betas))
        return f"Scheme({alphas}, {betas})"

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"

    def _repr_html_(self) -> str:
        from zerosnet.numerics.display import html_table

        groups = (("alphas", self.alphas), ("betas", self.betas))
        return html_table(self.name, [(name, ", ".join(map(str, group))) for name, group in groups], self.to_latex())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the roots and the unit circle; return the axes."""
        from zerosnet.numerics.plots import plot_scheme

        return plot_scheme(self, axes)

    def to_latex(self) -> str:
        """The recursion as LaTeX, without delimiters."""
        terms = [(a, _lagged("y_{n}", i)) for i, a in enumerate(self.alphas)]
        terms += [(b, _lagged("h f(y_{n})", j)) for j, b in enumerate(self.betas)]
        right = ""
        for coefficient, symbol in terms:
            if coefficient == 0:
                continue
            sign = "-" if coefficient < 0 else "+" if right else ""
            size = -coefficient if coefficient < 0 else coefficient
            right += f" {sign} " + ("" if size == 1 else num.to_latex(size) + " ") + symbol
        return "y_{n+1} = " + (" ".join(right.split()) or "0")

    def to_json(self) -> dict[str, list[str | float]]:
        """A JSON-ready object, lossless: exact numbers are strings, floats are numbers."""
        return {"alphas": [num.to_json(a) for a in self.alphas], "betas": [num.to_json(b) for b in self.betas]}

    @classmethod
    def from_json(cls, data: Any) -> "Scheme":
        if not isinstance(data, dict) or set(data) != {"alphas", "betas"}:
            raise InputError(f"a scheme in JSON is an object with alphas and betas, not {reprlib.repr(data)}")
        for name, group in data.items():
            if not isinstance(group, list):
                raise InputError(f"{name} is {reprlib.repr(group)}; expected a list of numbers")
        return cls(
            *([num.from_json(c, f"{name}[{i}]") for i, c in enumerate(data[name])] for name in ("alphas", "betas"))
        )

    def __rich__(self) -> "Table":
        from rich.table import Table

        table = Table("", *(_lagged("n", i) for i in range(self.steps)), title=f"{self.steps}-step scheme")
        for name, group in (("alpha", self.alphas), ("beta", self.betas)):
            table.add_row(name, *map(str, group))
        return table

    # -- comparison: by canonical JSON, so that exact and float never coincide -----------------------------------------

    def _key(self) -> tuple[tuple[str | float, ...], ...]:
        return tuple(tuple(num.to_json(c) for c in group) for group in (self.alphas, self.betas))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Scheme) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


def _coefficients(values: Iterable[Any], name: str) -> tuple[Number, ...]:
    if isinstance(values, str):
        return _coefficients(num.numbers(values, name), name)
    try:
        result = tuple(num.number(value, f"{name}[{i}]") for i, value in enumerate(values))
    except TypeError:
        raise InputError(f"{name} is {values!r}; expected a list of numbers") from None
    if not result:
        raise InputError(f"{name} is empty; expected at least one number")
    return result


def _lagged(symbol: str, lag: int) -> str:
    return symbol.replace("n", "n" if lag == 0 else f"n-{lag}")

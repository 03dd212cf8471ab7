"""Sets of real parameters as unions of intervals with open or closed ends: what a zero-stable set is."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zerosnet.numerics.rationals import number

End = Any  # Fraction, an exact algebraic number (sympy), or None for an infinite end


@dataclass(frozen=True)
class Interval:
    """An interval from low to high; None is -oo or oo. A point is a closed interval of length 0."""

    low: End
    high: End
    low_closed: bool = False
    high_closed: bool = False

    def __contains__(self, value: Any) -> bool:
        above = self.low is None or value > self.low or (self.low_closed and value == self.low)
        below = self.high is None or value < self.high or (self.high_closed and value == self.high)
        return bool(above and below)

    def __str__(self) -> str:
        low = "-oo" if self.low is None else str(self.low)
        high = "oo" if self.high is None else str(self.high)
        if self.low_closed and self.high_closed and self.low == self.high:
            return f"{{{low}}}"
        return f"{'[' if self.low_closed else '('}{low}, {high}{']' if self.high_closed else ')'}"

    def to_json(self) -> dict[str, str | bool | None]:
        """Return a JSON-ready object: ends are exact strings, null if infinite."""
        low, high = (None if end is None else str(end) for end in (self.low, self.high))
        return {"low": low, "high": high, "low_closed": self.low_closed, "high_closed": self.high_closed}


@dataclass(frozen=True)
class ParameterSet:
    """A union of disjoint intervals in rising order.

    Examples:
        >>> reals = ParameterSet.reals()
        >>> str(reals), 3 in reals, str(ParameterSet.points([1, 2]))
        ('(-oo, oo)', True, '{1, 2}')
    """

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def reals(cls, without: Iterable[Any] = ()) -> "ParameterSet":
        """The real line, or what is left of it without some points."""
        ends = [None, *sorted(number(x) for x in without), None]
        return cls(tuple(Interval(low, high) for low, high in itertools.pairwise(ends)))

    @classmethod
    def points(cls, values: Iterable[Any]) -> "ParameterSet":
        return cls(tuple(Interval(x, x, True, True) for x in sorted(number(value) for value in values)))

    def __contains__(self, value: Any) -> bool:
        x = number(value, "parameter")
        return any(x in interval for interval in self.intervals)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __str__(self) -> str:
        return " U ".join(map(str, self.intervals)).replace("} U {", ", ") or "{}"

    def to_json(self) -> dict[str, Any]:
        return {"text": str(self), "intervals": [interval.to_json() for interval in self.intervals]}

"""From numbers to places on an axis: linear or logarithmic, with round ticks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from zerosnet.report.page.html import signed

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_FEW_DECADES = 6


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def around(
        cls, values: Iterable[float], start: float, end: float, *, log: bool = False, margin: float = 0.04
    ) -> "Axis":
        """A scale that shows all finite values (on a logarithmic one: all positive ones), with a small margin."""
        seen = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
        low, high = (min(seen), max(seen)) if seen else (1.0, 10.0) if log else (0.0, 1.0)
        if log:
            low, high = math.log10(low), math.log10(high)
        if high - low < 1e-9 * max(1.0, abs(high)):
            room = 0.5 if log else max(abs(high) * 0.01, 0.5)
            low, high = low - room, high + room
        room = margin * (high - low)
        low, high = low - room, high + room
        return cls(10**low, 10**high, start, end, True) if log else cls(low, high, start, end)

    def __call__(self, value: float) -> float:
        """The place of a value; outside of the scale it stays at the border."""
        if self.log:
            share = (math.log10(max(value, 1e-300)) - math.log10(self.low)) / math.log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    @cached_property
    def ticks(self) -> list[float]:
        """About five round numbers within the scale."""
        return self._decades() if self.log else linear_ticks(self.low, self.high)

    def _decades(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        if last - first < 1:
            between = (m * 10.0**e for e in range(first - 1, last + 2) for m in (1, 2, 5))
            inside = [v for v in between if self.low <= v <= self.high]
            return inside if len(inside) > 1 else linear_ticks(self.low, self.high)
        step = -(-(last - first) // _FEW_DECADES)
        return [10.0**e for e in range(first, last + 1, step)]


def linear_ticks(low: float, high: float, about: int = 5) -> list[float]:
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """12, 0.04, 1e-7; a true minus."""
    if value != 0 and not 1e-4 < abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.0e}".partition("e")
        shown = f"{mantissa}e{int(exponent)}"
    else:
        shown = f"{value:.10g}"
    return signed(shown)

"""The ten coefficient rows of the paper's mapping table, with what it prints about them.

Only six of the ten are consistent; those belong to the ZeroSNet family, with the lambda given here.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zerosnet.numerics.analysis import facts
from zerosnet.numerics.methods.members import OPTIMUM
from zerosnet.numerics.scheme import Scheme


@dataclass(frozen=True)
class PaperRow:
    """One row: exact scheme, the moduli as printed (and in that order), and the printed verdict."""

    scheme: Scheme
    printed_moduli: tuple[str, ...]
    printed_zero_stable: bool
    lam: Fraction | None = None

    @property
    def label(self) -> str:
        """The moduli as the paper prints them, "0.33, 0.33, 1.00", which name the row."""
        return ", ".join(self.printed_moduli)

    def to_json(self) -> dict[str, Any]:
        """Return what the paper prints, and the facts of the scheme."""
        return {
            "label": self.label,
            "lambda": None if self.lam is None else str(self.lam),
            "printed_moduli": list(self.printed_moduli),
            "printed_zero_stable": self.printed_zero_stable,
            **facts(self.scheme),
        }


def _row(coefficients: str, moduli: str, zero_stable: bool, lam: str | None = None) -> PaperRow:
    return PaperRow(Scheme.parse(coefficients), tuple(moduli.split()), zero_stable, Fraction(lam) if lam else None)


PAPER_ROWS = (
    _row("1,1,1;1", "1.84 0.74 0.74", False),
    _row("3.75,-4,1.25;-0.5", "0.57 1.00 2.18", False, "1/4"),
    _row("-3,5,-1;4", "4.24 0.24 1.00", False, "-1/5"),
    _row("-0.75,2,-0.25;2.5", "1.88 0.13 1.00", False, "-1/2"),
    _row("2.25,-2,0.75;0.5", "1.00 0.87 0.87", True, "1/2"),
    _row("0.1,0.2,0.3;0.4", "0.81 0.61 0.61", True),
    _row("0.5,0.3,0.1;0.1", "0.94 0.33 0.33", True),
    _row("0.825,-0.1,0.275;1.45", "1.00 0.52 0.52", True, "10"),
    _row("1,0.3,-0.4;1", "0.60 0.82 0.82", True),
    _row(str(OPTIMUM), "0.33 0.33 1.00", True, "-9/5"),
)

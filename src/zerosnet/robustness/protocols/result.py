"""The result of a protocol for one network, as values that go to JSON and back; radii as people write them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import isclose
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

_WHOLE = 1e-9  # quarters of 1/255 closer than this to a whole number are one
_SAME = 1e-12  # relative difference of radii that differ by rounding only


@dataclass(frozen=True)
class Check:
    """A sanity check of adversarial numbers: what holds if the attacks did their work.

    `passed` is None if the numbers it needs were not measured; `detail` then names them.
    """

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True)
class ResultRow:
    """Accuracy in one setting.

    method     what was done, one name for all its levels: "clean", "noise", "fgsm", "pgd-20", "transfer", ...
    access     "white-box" if the attack saw the network's gradients, "black-box" if not, None for no attack
    eps        radius, in [0, 1] units; None if there is none
    reach      how far the attack could get: more than eps if it does not project
    settings   everything else that decides the number
    """

    label: str
    method: str
    accuracy: float
    correct: int
    images: int
    access: str | None = None
    eps: float | None = None
    reach: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """A setting measured for all replicas at once: `right` is (N, K); the other fields are those of `ResultRow`."""

    label: str
    method: str
    right: "Tensor"
    access: str | None = None
    eps: float | None = None
    reach: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def row(self, replica: int) -> ResultRow:
        right = self.right[:, replica]
        correct = int(right.sum())
        return ResultRow(
            self.label, self.method, correct / len(right), correct, len(right), self.access, self.eps, self.reach,
            self.settings,
        )  # fmt: skip


@dataclass(frozen=True)
class ProtocolResult:
    """The numbers of a protocol for one network, the sanity checks of its adversarial numbers, and notes to read."""

    protocol: str
    rows: tuple[ResultRow, ...] = ()
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    not_run: str | None = None

    @property
    def warnings(self) -> list[str]:
        """The failed checks, to be shown beside every number of this result."""
        return [f'failed check "{check.name}": {check.detail}' for check in self.checks if check.passed is False]

    @property
    def not_made(self) -> list[str]:
        """The checks for which the numbers are lacking: neither passed nor failed."""
        return [f"{check.name}: {check.detail}" for check in self.checks if check.passed is None]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "warnings": self.warnings}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "ProtocolResult":
        try:
            return cls(
                protocol=data["protocol"],
                rows=tuple(ResultRow(**row) for row in data["rows"]),
                checks=tuple(Check(**check) for check in data["checks"]),
                notes=tuple(data["notes"]),
                settings=data["settings"],
                not_run=data["not_run"],
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"not what a protocol measured ({type(error).__name__}: {error})") from None


def rows_of(measured: Sequence[Measurement], replica: int) -> tuple[ResultRow, ...]:
    return tuple(one.row(replica) for one in measured)


def read_radius(text: str) -> float:
    """Read eps, in [0, 1] units, from a fraction or a decimal.

    Examples:
        >>> read_radius("8/255") == 8 / 255, read_radius("0.5/255") == 0.5 / 255, read_radius("0.03")
        (True, True, 0.03)
    """
    levels, _, whole = text.partition("/")
    try:
        eps = float(Fraction(levels.strip()) / Fraction(whole.strip() or 1))
    except (ValueError, ZeroDivisionError, OverflowError):
        eps = -1.0
    if not 0 < eps < 1:
        hint = f" ({text.strip()}/255?)" if text.strip().isdigit() and 0 < int(text) < 255 else ""
        raise InputError(f"eps is {text!r}{hint}; expected a fraction such as 8/255, or a number between 0 and 1")
    return eps


def radius_text(eps: float) -> str:
    """Write eps as quarters of 1/255, as a short decimal or fraction of 255, or else with all its digits.

    Different radii have different texts, but for rounding errors: files are named after them.

    Examples:
        >>> radius_text(8 / 255), radius_text(0.25 / 255), radius_text(0.075), radius_text(0.1 / 255)
        ('8/255', '0.25/255', '0.075', '0.1/255')
        >>> radius_text(0.12341)
        '0.12341'
    """
    quarters = 4 * 255 * eps
    if quarters > 0.5 and abs(quarters - round(quarters)) < _WHOLE:
        return f"{round(quarters) / 4:g}/255"
    decimal, levels = f"{eps:.4g}", f"{255 * eps:.4g}"
    if isclose(float(decimal), eps, rel_tol=_SAME):
        return decimal
    return f"{levels}/255" if isclose(float(levels) / 255, eps, rel_tol=_SAME) else repr(float(eps))

"""A predicted accuracy."""

from dataclasses import dataclass
from typing import Any

from zerosnet.numerics.display import html_table


@dataclass(frozen=True, repr=False)
class Prediction:
    """Accuracy in percent with its 90 % interval; None, and the reason, if the law was not calibrated."""

    accuracy: float | None
    interval: tuple[float, float] | None
    calibrated: bool
    why_not: str | None = None

    def __str__(self) -> str:
        if self.accuracy is None or self.interval is None:
            return f"no accuracy: {self.why_not}"
        return f"{self.accuracy:.1f} % ({self.interval[0]:.1f} to {self.interval[1]:.1f})"

    def __repr__(self) -> str:
        return f"Prediction({self})"

    def _repr_html_(self) -> str:
        return html_table("Predicted test accuracy", [("90 % interval in brackets", str(self))])

    def to_json(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "interval": None if self.interval is None else list(self.interval)}

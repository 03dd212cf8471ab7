"""Everything about a scheme in one value: root condition, order conditions and finite depth."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from zerosnet.numerics import rationals as num
from zerosnet.numerics.depth.envelopes import Growth, growth
from zerosnet.numerics.display import html_table
from zerosnet.numerics.methods.order_conditions import (
    consistency_residuals,
    error_constant,
    is_consistent,
    normalised_error_constant,
    order,
)
from zerosnet.numerics.rationals import Number
from zerosnet.numerics.regions.axis_intervals import imaginary_interval, real_interval
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.verdict import Verdict, root_condition
from zerosnet.numerics.wirings.stages import BLOCKS
from zerosnet.numerics.wirings.wiring import wiring_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table


@dataclass(frozen=True, repr=False)
class Analysis:
    """A scheme, its verdict, its order (0, and no error constant, if inconsistent), its growth over 27 blocks."""

    scheme: Scheme
    verdict: Verdict
    consistent: bool
    residuals: tuple[Number, Number]
    order: int
    error_constant: Number | None
    normalised_error_constant: Number | None
    growth: Growth

    @cached_property
    def effective_depth(self) -> float | None:
        """How many of the 27 blocks of 56 layers are in use (`Wiring.effective_depth`); None for too many steps."""
        if self.scheme.steps > sum(BLOCKS):
            return None
        return wiring_of(self.scheme, BLOCKS, "project-each").effective_depth()

    def to_json(self) -> dict[str, Any]:
        """What `zerosnet analyze --json` prints first. Coefficients, residuals and error constants follow the rule for
        schemes: an exact number is a string, "16/9", a float is a number. Roots ([re, im]), moduli and margin are
        numbers; `zero_stable` is null if borderline, error constants are null for an inconsistent scheme.
        """
        verdict = self.verdict
        return {
            **self.scheme.to_json(),
            "steps": self.scheme.steps,
            "zero_stable": verdict.zero_stable,
            "kind": verdict.kind,
            "reason": verdict.reason,
            "exact": verdict.exact,
            "roots": [[root.real, root.imag] for root in verdict.roots],
            "moduli": list(verdict.moduli),
            "margin": verdict.margin,
            "consistent": self.consistent,
            "consistency_residuals": [num.to_json(c) for c in self.residuals],
            "order": self.order,
            "error_constant": _json(self.error_constant),
            "normalised_error_constant": _json(self.normalised_error_constant),
            "growth": self.growth.to_json(),
            "effective_depth": self.effective_depth,
            "latex": self.scheme.to_latex(),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values for people to read."""
        verdict = self.verdict
        answer = {True: "yes", False: "no", None: "undecided"}
        residuals = ", ".join(map(_text, self.residuals))
        return [
            ("alphas", ", ".join(map(_text, self.scheme.alphas))),
            ("betas", ", ".join(map(_text, self.scheme.betas))),
            ("zero-stable", f"{answer[verdict.zero_stable]} ({verdict.kind})"),
            ("because", verdict.reason),
            ("decided", "exactly" if verdict.exact else "numerically, within rounding"),
            ("roots", ", ".join(map(_complex_text, verdict.roots))),
            ("moduli", ", ".join(f"{m:.4f}" for m in verdict.moduli)),
            ("margin", f"{verdict.margin:.4g}"),
            ("consistent", "yes" if self.consistent else f"no (residuals {residuals})"),
            ("order", str(self.order) if self.consistent else "none"),
            ("error constant", _text(self.error_constant)),
            ("divided by sigma(1)", _text(self.normalised_error_constant)),
            ("growth", f"at most {self.growth.constant:.3g}-fold over {self.growth.blocks} blocks, of the state alone"),
            ("effective depth", self._depth_text()),
        ]

    def __repr__(self) -> str:
        order = f"order {self.order}" if self.consistent else "not consistent"
        return f"Analysis({self.scheme.name}: {self.verdict.kind}, {order})"

    def _repr_latex_(self) -> str:
        return self.scheme._repr_latex_()

    def _repr_html_(self) -> str:
        return html_table(f"{self.scheme.name}: {self.verdict.kind}", self.rows(), self.scheme.to_latex())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw how far a perturbation grows over 27 blocks, at most; return the axes."""
        from zerosnet.numerics.plots import plot_analysis

        return plot_analysis(self, axes)

    def _depth_text(self) -> str:
        depth = self.effective_depth
        return "none" if depth is None else f"{depth:.1f} of {sum(BLOCKS)} blocks are in use in 56 layers"

    def __rich__(self) -> "Table":
        from rich.table import Table

        table = Table(title=f"{self.scheme.steps}-step scheme", show_header=False)
        for name, value in self.rows():
            table.add_row(name, value)
        return table


def analyze(scheme: Scheme | str) -> Analysis:
    """Decide zero stability, consistency and order of a scheme, exactly if its coefficients are exact.

    Examples:
        >>> analyze("1/3,5/9,1/9;16/9")
        Analysis(zerosnet(-9/5): strongly stable, order 2)
    """
    scheme = Scheme.of(scheme)
    return Analysis(
        scheme=scheme,
        verdict=root_condition(scheme),
        consistent=is_consistent(scheme),
        residuals=consistency_residuals(scheme),
        order=order(scheme),
        error_constant=error_constant(scheme),
        normalised_error_constant=normalised_error_constant(scheme),
        growth=growth(scheme),
    )


def facts(scheme: Scheme | str) -> dict[str, Any]:
    """The JSON document of a scheme: its analysis and its intervals of absolute stability, null if infinite."""
    scheme = Scheme.of(scheme)
    return {
        **analyze(scheme).to_json(),
        "real_interval": _json(real_interval(scheme)),
        "imaginary_interval": _json(imaginary_interval(scheme)),
    }


def _json(value: Number | None) -> str | float | None:
    return None if value is None or value == inf else num.to_json(value)


def _text(value: Number | None) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _complex_text(z: complex) -> str:
    return f"{z.real:.4f}" if z.imag == 0 else f"{z.real:.4f}{z.imag:+.4f}i"

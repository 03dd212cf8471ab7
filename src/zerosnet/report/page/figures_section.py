"""The figures of the page: roots, accuracy against them, noise, attacks, training."""

from collections.abc import Iterable, Sequence

from zerosnet.experiments import Evidence, Measured
from zerosnet.numerics import PAPER_ROWS, Scheme, is_consistent, root_condition
from zerosnet.report.page.chart import Chart, figure, figures
from zerosnet.report.page.configurations import Panel
from zerosnet.report.page.curves import attack_charts, noise_charts, training_chart
from zerosnet.report.page.experiments_section import warning_list
from zerosnet.report.page.html import Html, element, join
from zerosnet.report.page.modulus_charts import modulus_charts, most_measured_first
from zerosnet.report.page.used_blocks_chart import used_blocks_section
from zerosnet.robustness import PROTOCOLS

_NOISE = "paper-noise"
_NONE = "None of the runs in the stores has this yet."
_SIZE, _LEAST = 148, 1.28
_ON_CIRCLE = 1e-9
_SHAPES = {
    "inside": ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "k s0"),
    "on": ("M0-4.6L4.6 0L0 4.6L-4.6 0z", "k s2"),
    "outside": ("M-3.8-3.8L3.8 3.8M-3.8 3.8L3.8-3.8", "k s1"),
}


def roots_section() -> list[Html]:
    """The ten schemes of the paper."""
    diagrams = [
        root_diagram(row.scheme, row.label, [f"λ = {row.lam}" if row.lam else "not consistent"]) for row in PAPER_ROWS
    ]
    consistent = sum(is_consistent(row.scheme) for row in PAPER_ROWS)
    words = (
        "Roots of the characteristic polynomials of the paper's ten schemes, beside the unit circle: a dot inside, "
        "a diamond on it, a cross outside. A scheme is zero-stable if none lies outside and those on the circle are "
        f"simple. Only {consistent} of the ten are consistent, so that the rows differ in more than their stability."
    )
    return [element("p", words), element("div", diagrams, class_="rootgrid")]


def root_diagram(scheme: Scheme, title: str, notes: Sequence[str] = ()) -> Html:
    """A figure: circle, roots (filled inside, a diamond on the circle, a cross outside), and lines of text below."""
    verdict = root_condition(scheme)
    reach = max(_LEAST, 1.12 * max(verdict.moduli, default=1.0))
    middle, unit = _SIZE / 2, _SIZE / 2 / reach
    axes = f"M0 {middle}H{_SIZE}M{middle} 0V{_SIZE}"
    parts = [
        element("path", d=axes, class_="g"),
        element("circle", cx=middle, cy=middle, r=f"{unit:.1f}", class_="o"),
    ]
    for root, modulus in zip(verdict.roots, verdict.moduli):
        shape, look = _SHAPES[_place(modulus)]
        x, y = middle + unit * root.real, middle - unit * root.imag
        tip = element("title", f"{root.real:.4g}{root.imag:+.4g}i, modulus {modulus:.4g}")
        parts.append(element("path", tip, d=shape, transform=f"translate({x:.1f} {y:.1f})", class_=look))
    answer = {True: "zero-stable", False: "not zero-stable", None: "borderline"}[verdict.zero_stable]
    listed = ", ".join(f"{m:.2f}" for m in verdict.moduli)
    label = f"{title}: roots of moduli {listed}; {answer}"
    drawing = element("svg", parts, viewBox=f"0 0 {_SIZE} {_SIZE}", role="img", aria_label=label)
    sign = {True: "✓", False: "✕", None: "?"}[verdict.zero_stable]
    words = [element("strong", title), element("span", f"{sign} {answer}"), *(element("span", note) for note in notes)]
    return element("figure", drawing, element("figcaption", words), class_="roots")


def _place(modulus: float) -> str:
    return "on" if abs(modulus - 1) <= _ON_CIRCLE else "outside" if modulus > 1 else "inside"


def modulus_section(found: Sequence[Measured], evidence: Evidence) -> list[Html]:
    """Accuracy against the largest parasitic modulus; first the networks whose used blocks are compared with it."""
    words = (
        "Every point is a row of a table above: filled marks are ours, hollow ones are printed in the paper. The "
        "dotted line is the unit circle. Bars are standard deviations over the seeds."
    )
    alike = used_blocks_section(found, evidence)
    each = most_measured_first(chart for measured in found for chart in modulus_charts(measured))
    title = [element("h4", "Table by table, against the largest parasitic modulus")] if alike and each else []
    return [element("p", words), *alike, *title, *([_charts(each)] if each or not alike else [])]


def noise_section(panels: Sequence[Panel]) -> list[Html]:
    """Accuracy over the level of noise."""
    words = "Test accuracy under the paper's noises, the mean over the seeds. Dashed lines are not zero-stable."
    return [element("p", words), *(_panels((panel.title, noise_charts(panel, _NOISE)) for panel in panels))]


def attack_section(panels: Sequence[Panel]) -> list[Html]:
    """Accuracy over eps for every adversarial protocol, with its notes, and the checks that failed or were not made."""
    every = [run for panel in panels for one in panel.members for run in one.runs]
    names = sorted({name for run in every for name, attack in run.attacks.items() if attack.checks})
    if not names:
        return [element("p", _NONE, class_="none")]
    parts: list[Html] = []
    for name in names:
        attacks = {run.record.id: run.attacks[name] for run in every if name in run.attacks}
        notes = dict.fromkeys(note for attack in attacks.values() for note in attack.notes)
        notes |= {f"Sanity check not made: {check}": None for attack in attacks.values() for check in attack.not_made}
        known = PROTOCOLS.get(name.split("+")[0])
        parts += [element("h3", name), element("p", known.what if known else None)]
        parts += [element("ul", (element("li", note) for note in notes), class_="text small")] if notes else []
        parts += warning_list({run: attack.warnings for run, attack in attacks.items() if attack.warnings})
        parts += _panels((panel.title, attack_charts(panel, name)) for panel in panels)
    return parts


def training_section(panels: Sequence[Panel]) -> list[Html]:
    """Test error over the epochs."""
    words = "Test error over the epochs, the mean over the seeds, on a logarithmic axis."
    return [element("p", words), _charts(filter(None, map(training_chart, panels)))]


def _panels(panels: Iterable[tuple[str, Sequence[Chart]]]) -> list[Html]:
    """The charts of every panel that has some, below its name and with one legend."""
    drawn = [join([element("h4", title), figures(charts)]) for title, charts in panels if charts]
    return drawn or [element("p", _NONE, class_="none")]


def _charts(charts: Iterable[Chart]) -> Html:
    drawn = [figure(chart) for chart in charts]
    return element("div", drawn, class_="charts") if drawn else element("p", _NONE, class_="none")

"""The figures of the page: accuracy against the roots, noise, attacks."""

from collections.abc import Iterable, Sequence

from zerosnet.experiments import Evidence, Measured
from zerosnet.report.page.chart import Chart, figure, figures
from zerosnet.report.page.configurations import Panel
from zerosnet.report.page.curves import attack_charts, noise_charts
from zerosnet.report.page.experiments_section import warning_list
from zerosnet.report.page.html import Html, element, join
from zerosnet.report.page.modulus_charts import modulus_charts, most_measured_first, used_blocks_section
from zerosnet.robustness import PROTOCOLS

_NOISE = "paper-noise"
_NONE = "None of the runs in the stores has this yet."


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


def is_noise(name: str) -> bool:
    """Check if results of this name, such as "paper-noise+images=500", are those of the paper's noises."""
    return name.partition("+")[0] == _NOISE


def noise_title(name: str) -> str:
    """Write the line above the noises, with the number of images if not all were used.

    Examples:
        >>> noise_title("paper-noise"), noise_title("paper-noise+images=50")
        ('Noise', 'Noise: 50 images')
    """
    options = dict(option.split("=", 1) for option in name.split("+")[1:] if "=" in option)
    return f"Noise: {options['images']} images" if "images" in options else "Noise"


def noise_section(panels: Sequence[Panel], name: str = _NOISE) -> list[Html]:
    """Accuracy over the level of noise."""
    words = "Test accuracy under the paper's noises, the mean over the seeds. Dashed lines are not zero-stable."
    return [element("p", words), *(_panels((panel.title, noise_charts(panel, name)) for panel in panels))]


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


def _panels(panels: Iterable[tuple[str, Sequence[Chart]]]) -> list[Html]:
    """The charts of every panel that has some, below its name and with one legend."""
    drawn = [join([element("h4", title), figures(charts)]) for title, charts in panels if charts]
    return drawn or [element("p", _NONE, class_="none")]


def _charts(charts: Iterable[Chart]) -> Html:
    drawn = [figure(chart) for chart in charts]
    return element("div", drawn, class_="charts") if drawn else element("p", _NONE, class_="none")

"""The first screen: the claim that was tested, the runs, and how much of it was measured."""

from collections import Counter
from collections.abc import Sequence

from zerosnet.experiments import Evidence, Measured, distinct_cells
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.runs_section import hardware

_MOST_MACHINES = 2


def tested() -> Html:
    """Explain the paper's claims to a reader who has not read it."""
    return element(
        "p",
        "A residual network can be read as a numerical scheme. The paper ",
        element("cite", "Zero Stability Well Predicts Performance of Convolutional Neural Networks"),
        " (Chen, Jin, Shang, AAAI 2022) claims that a property of that scheme, zero stability, which is known before "
        "any training, predicts how accurate and how robust the network will be. Here its tables are measured again, "
        "ours beside what it printed.",
        class_="lead",
    )


def facts(evidence: Evidence, found: Sequence[Measured]) -> Html:
    """Runs, tables, time and hardware."""
    runs = evidence.runs
    finished = [run for run in runs if run.record.status == "finished"]
    seconds = sum(run.record.result.seconds for run in runs if run.record.result is not None)
    states = Counter(run.record.status for run in runs)
    others = ", ".join(f"{count} {status}" for status, count in states.items() if status != "finished")
    machines = Counter(hardware(run.environment) for run in runs if run.environment)
    named = "; ".join(name for name, _ in machines.most_common(_MOST_MACHINES))
    more = f"; and {len(machines) - _MOST_MACHINES} more" if len(machines) > _MOST_MACHINES else ""
    cells = distinct_cells(cell for one in found for cell in one.cells if cell.wanted)
    measured = sum(bool(cell.values) for cell in cells)
    data = Counter(run.record.spec.dataset.removeprefix("imagefolder:") for run in finished)
    items = (
        (f"{len(finished):,}", f"finished runs{f'; {others}' if others else ''}"),
        (f"{measured:,} of {len(cells):,}", "numbers of the tables measured or computed"),
        (", ".join(name for name, _ in data.most_common()) or "none", "data sets"),
        (_duration(seconds), "of training"),
        (named + more or "none", "hardware"),
    )
    return element(
        "ul", (element("li", element("b", value), element("span", name)) for value, name in items), class_="facts"
    )


def apart(evidence: Evidence, found: Sequence[Measured]) -> list[Html]:
    """Link the finished runs that are in no table."""
    used = {value.run for one in found for cell in one.cells for value in cell.values}
    finished = [run.record.id for run in evidence.runs if run.record.status == "finished"]
    others = sum(run not in used for run in finished)
    if not others:
        return []
    links = [element("a", title, href=f"#{key}") for key, title in (("training", "Training"), ("runs", "Runs"))]
    why = "have no number in the tables: other settings, or not attacked yet; see "
    line = f"{others:,} of {len(finished):,} finished runs {why}"
    return [element("p", line, links[0], " and ", links[1], ".", class_="text")]


def empty(evidence: Evidence) -> list[Html]:
    """A note if the stores hold no run, or none that can be read."""
    if evidence.runs:
        return []
    where = f" in {', '.join(map(str, evidence.stores))}" if evidence.stores else ""
    state = f"No run{where} can be read" if evidence.problems else f"There are no runs{where}"
    line = (
        f"{state}. The tables below hold the paper's numbers, what is computed without training, "
        "and what was measured earlier and recorded with the package. To fill them: "
    )
    return [element("p", line, element("code", "zerosnet reproduce"), class_="note")]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

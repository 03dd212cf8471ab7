"""What the stores hold, in a few words."""

from collections import Counter

from zerosnet.experiments import Evidence
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.runs_section import hardware

_MOST_MACHINES = 2


def in_stores(evidence: Evidence) -> Html:
    """One line: runs, networks, data sets, time and hardware."""
    runs = evidence.runs
    finished = [run for run in runs if run.record.status == "finished"]
    states = Counter(run.record.status for run in runs)
    others = "".join(f", {count} {status}" for status, count in states.items() if status != "finished")
    data = Counter(run.record.spec.dataset.removeprefix("imagefolder:") for run in runs)
    seconds = sum(run.record.result.seconds for run in runs if run.record.result is not None)
    machines = [name for name, _ in Counter(hardware(run.environment) for run in runs if run.environment).most_common()]
    more = f" and {len(machines) - _MOST_MACHINES} more" if len(machines) > _MOST_MACHINES else ""
    words = [
        f"{len(finished):,} finished run{'s' if len(finished) != 1 else ''}{others}",
        ", ".join(name for name, _ in data.most_common()),
        f"{_duration(seconds)} of training on {'; '.join(machines[:_MOST_MACHINES])}{more}" if machines else "",
    ]
    where = ", ".join(map(str, evidence.stores))
    line = "; ".join(word for word in words if word)
    return element("p", element("strong", f"In {where}: " if where else "In the stores: "), f"{line}.", class_="stores")


def empty(evidence: Evidence) -> list[Html]:
    """A note if the stores hold no run, or none that can be read."""
    if evidence.runs:
        return []
    where = f" in {', '.join(map(str, evidence.stores))}" if evidence.stores else ""
    state = f"No run{where} can be read" if evidence.problems else f"There are no runs{where}"
    line = f"{state}. What you see was measured earlier and comes with the package. To make runs of your own: "
    return [element("p", line, element("code", "zerosnet reproduce"), class_="note")]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

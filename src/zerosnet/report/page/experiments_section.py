"""Every experiment as a section: its table at every scale that has numbers, what to know, warnings and commands."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zerosnet.experiments import SCALES, Measured, RunEvidence, pair_findings
from zerosnet.report.page.commands import attack_command, reproduce_command, train_command
from zerosnet.report.page.html import Html, element, signed
from zerosnet.report.page.tables import experiment_table

_MOST_ROWS = 60  # longer tables stay folded on paper
_MOST_WARNINGS = 12  # more runs with failed checks than that are folded on paper too
_WORDS = {
    "demo": "Demo scale: embedded data, a short schedule. It illustrates; it measures none of the paper's numbers, and "
    "is not compared with them.",
    "reduced": "Reduced scale: fewer epochs or seeds than the paper. Differences from it are to be expected.",
    "full": "",
}


def experiment_section(
    found: Sequence[Measured], runs: Mapping[str, RunEvidence], *, paper: bool = False, shown: bool = False
) -> Html:
    """Show an experiment behind one line, measured at one or more scales.

    Args:
        paper: Show rows that have a number of the paper only.
        shown: Show it without being asked.
    """
    experiment = found[0].experiment
    parts: list[Html] = []
    for measured in found:
        warnings = measured.warnings
        place = f"{experiment.name}-{measured.scale}-warnings"
        said = {one.group: f"first less second, points: {signed(one.said)}" for one in pair_findings(measured)}
        words = _WORDS.get(measured.scale, SCALES[measured.scale].what)
        line = [element("strong", progress(measured, used_runs(measured, runs))), " ", words]
        parts += [
            element("p", line),
            experiment_table(measured, place, said, printed=paper),
            *warning_list(warnings, place),
            _commands(measured, runs),
        ]
    lines = [*experiment.footnotes, *experiment.notes]
    if lines:
        parts.append(element("ul", (element("li", line) for line in lines), class_="text small"))
    title = [element("span", experiment.title), " ", element("small", _told(found, runs), class_="muted")]
    look = "folded" if len(experiment.rows) <= _MOST_ROWS else "folded long"
    return element("details", element("summary", title), element("div", parts, class_="screen"), class_=look,
                   id=experiment.name, open=shown)  # fmt: skip


def _told(found: Sequence[Measured], runs: Mapping[str, RunEvidence]) -> str:
    """ "Table 3; 33 of 93 runs; zero-stable rows are better by ..." in one line."""
    where = found[0].experiment.reference.partition(" (")[0]
    words = ["an experiment of our own" if where == "ours" else where]
    for measured in found:
        words.append(progress(measured, used_runs(measured, runs)).rstrip("."))
    return "; ".join(words)


def progress(measured: Measured, used: Sequence[RunEvidence]) -> str:
    """A sentence on how much was measured; numbers of runs that are not in the stores came with the package."""
    printed = " What the paper printed:" if any(cell.printed is not None for cell in measured.cells) else ""
    if measured.done and not used:
        return (
            f"{measured.done} of {measured.wanted} runs, measured earlier at {measured.scale} scale and recorded with "
            "the package; they are not in the stores."
        )
    if measured.done:
        return f"{measured.done} of {measured.wanted} runs are there ({measured.scale} scale)."
    if measured.wanted:
        return f"Not run: none of its {measured.wanted} runs is in the stores.{printed}"
    if any(cell.values for cell in measured.cells):
        return f"{'Timed' if measured.experiment.command else 'Computed'}; nothing is trained for it."
    return f"Not run.{printed}"


def used_runs(measured: Measured, runs: Mapping[str, RunEvidence]) -> list[RunEvidence]:
    """The runs that gave a table its numbers."""
    used = {value.run for cell in measured.cells for value in cell.values}
    return [run for key, run in runs.items() if key in used]


def warning_list(warnings: Mapping[str, Sequence[str]], place: str | None = None) -> list[Html]:
    """A list of failed checks, to stand beside the numbers they are about."""
    if not warnings:
        return []
    runs = (element("li", element("code", run), ": ", "; ".join(lines)) for run, lines in warnings.items())
    count = sum(len(lines) for lines in warnings.values())
    checks = "sanity checks" if count > 1 else "sanity check"
    title = f"⚠ {count} {checks} of the attacks failed; the accuracies that are marked may be too high"
    look = f"note warning small{' long' if len(warnings) > _MOST_WARNINGS else ''}"
    return [element("details", element("summary", title), element("ul", runs), class_=look, id=place)]


def _commands(measured: Measured, runs: Mapping[str, RunEvidence]) -> Html:
    """The command for the whole table, and for every number that is there."""
    experiment = measured.experiment
    lines = [reproduce_command(experiment, measured.scale)]
    each: dict[str, list[RunEvidence]] = {}
    for run in used_runs(measured, runs):
        each.setdefault(replace(run.record.spec, seed=0).canonical(), []).append(run)
    for alike in each.values():
        lines.append(train_command(alike[0].record.spec, sorted(run.record.spec.seed for run in alike)))
    protocols = experiment.protocols(measured.scale)
    used = [run for alike in each.values() for run in alike]
    names = dict.fromkeys(name for run in used for name, attack in run.attacks.items() if attack.protocol in protocols)
    lines += [attack_command([run for run in used if name in run.attacks], name) for name in names]
    if not used:
        return element("p", "To run it: ", element("code", lines[0]), class_="small")
    return element(
        "details",
        element("summary", f"Commands: the whole table, and {len(lines) - 1} for its numbers"),
        element("pre", "\n".join(lines)),
    )

"""The runs behind the page: what the stores hold, every run with its command, machines, and what cannot be read."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from zerosnet.environment import ORIGIN_MARKS, UNCOMMITTED, origin_problem
from zerosnet.experiments import Evidence, RunEvidence
from zerosnet.numerics import name_of_schemes
from zerosnet.report.page.commands import attack_command, train_command
from zerosnet.report.page.configurations import setting
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.schemes import named
from zerosnet.report.page.tables import folded, plain_table

_OPEN_UP_TO = 0  # the list of runs is folded
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


def no_runs(evidence: Evidence) -> str | None:
    """Report that stores hold no run, or none that can be read; None if they do."""
    if evidence.runs:
        return None
    where = f" in {', '.join(map(str, evidence.stores))}" if evidence.stores else ""
    return f"No run{where} can be read" if evidence.problems else f"There are no runs{where}"


def empty(evidence: Evidence) -> list[Html]:
    """A note if the stores hold no run, or none that can be read."""
    if (state := no_runs(evidence)) is None:
        return []
    line = f"{state}. What you see was measured earlier and comes with the package. To make runs of your own: "
    return [element("p", line, element("code", "zerosnet reproduce"), class_="note")]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def runs_section(evidence: Evidence) -> list[Html]:
    """Show the runs, their environments, and damaged files."""
    return [
        *damage(evidence.problems),
        folded(
            f"All {len(evidence.runs)} runs, each with its command",
            _run_table(evidence.runs),
            len(evidence.runs),
            _OPEN_UP_TO,
        ),
        *(element("p", line, class_="note") for line in origin_legend(evidence.runs)),
        *_environments(evidence.runs),
    ]


def origin_legend(runs: Iterable[RunEvidence]) -> list[str]:
    """Explain the marks beside runs whose code is not that of a commit."""
    found = Counter(origin_problem(run.environment) for run in runs)
    return [f"{mark} {problem}: {found[problem]} runs." for problem, mark in ORIGIN_MARKS.items() if found[problem]]


def damage(problems: Sequence[str]) -> list[Html]:
    """A list of the files that could not be read: nothing on the page is made of them."""
    if not problems:
        return []
    title = element(
        "strong", f"{len(problems)} damaged file{'s' if len(problems) > 1 else ''}, left out of everything:"
    )
    return [element("div", title, element("ul", (element("li", p) for p in problems)), class_="note warning")]


def hardware(environment: dict[str, Any]) -> str:
    """The GPU if there was one, else the processor."""
    gpu, cpu = _part(environment, "gpu"), _part(environment, "cpu")
    names = gpu.get("names")
    if isinstance(names, list) and names:
        counts = Counter(str(name) for name in names)
        return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in counts.items())
    return f"{cpu.get('model', 'unknown processor')}, {cpu.get('cores', '?')} cores" if cpu else "unknown hardware"


def _part(environment: dict[str, Any], key: str) -> dict[str, Any]:
    part = environment.get(key)
    return part if isinstance(part, dict) else {}


def _run_table(runs: Iterable[RunEvidence]) -> Html:
    heads = ("run", "scheme, setting", "status", "command", "last %", "best %", "train %", "seconds")
    return plain_table("Runs, with accuracies in per cent at the end", heads, map(_row, runs), right=4)


def _row(run: RunEvidence) -> list[object]:
    record, spec = run.record, run.record.spec
    result = record.result
    scheme = named(spec.scheme) if spec.scheme else "the model's own"
    if spec.block_schemes is not None:
        scheme = name_of_schemes(spec.block_schemes)
    commands = [train_command(spec), *(attack_command([run], name) for name in run.attacks)]
    shown = element("details", element("summary", "show"), (element("pre", line) for line in commands), class_="long")
    status = record.status if result is None or result.reason is None else f"{record.status}: {result.reason}"
    accuracies = ("test_accuracy", "best_test_accuracy", "train_accuracy")
    numbers = [_percent(getattr(result, name, None)) for name in accuracies]
    seconds = "" if result is None else f"{result.seconds:,.0f}"
    mark = ORIGIN_MARKS.get(origin_problem(run.environment) or "", "")
    name = [element("code", record.id), f" {mark}" if mark else ""]
    return [name, [scheme, f"; {setting(spec)}"], status, shown, *numbers, seconds]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _environments(runs: Sequence[RunEvidence]) -> list[Html]:
    """Every environment that occurs, in full, with the number of runs that were made in it."""
    counted = Counter(json.dumps(run.environment, sort_keys=True) for run in runs if run.environment)
    sections = []
    for text, count in counted.most_common():
        environment = json.loads(text)
        listed = {"runs": str(count), **_facts(environment)}
        facts = element("dl", ([element("dt", name), element("dd", value)] for name, value in listed.items()))
        whole = element(
            "details",
            element("summary", "the whole record"),
            element("pre", json.dumps(environment, indent=1)),
            class_="long",
        )
        sections.append(element("div", facts, whole))
    missing = sum(not run.environment for run in runs)
    if missing:
        sections.append(element("p", f"{missing} runs have no record of their environment.", class_="note"))
    words = f"Environments: {len(counted)}, with hardware, versions and commits"
    return [element("details", element("summary", words), sections, class_="long")] if sections else []


def _commit(environment: dict[str, Any]) -> str:
    """Name the commit, and whether files differed from it."""
    git = _part(environment, "git")
    state = {True: f" with {UNCOMMITTED}", False: "", None: " (it is not recorded whether files were changed)"}
    dirty = git.get("dirty")
    known = state[dirty if isinstance(dirty, bool) else None] if not environment.get("source") or dirty else ""
    return f"{git['commit']}{known}" if git.get("commit") else "not recorded"


def _facts(environment: dict[str, Any]) -> dict[str, str]:
    cpu, packages = _part(environment, "cpu"), _part(environment, "packages")

    def get(key: str) -> str:
        return str(environment.get(key) or "not recorded")

    return {
        "hardware": hardware(environment),
        "processor": f"{cpu.get('model', 'unknown')}, {cpu.get('cores', '?')} cores",
        "system": f"{get('platform')}; Python {get('python')}",
        "zerosnet": f"{get('zerosnet')}, commit {_commit(environment)}",
        "packages": ", ".join(f"{name} {version}" for name, version in packages.items() if version),
        "arithmetic": f"{get('arithmetic')}; kernels: {get('kernels')}",
    }

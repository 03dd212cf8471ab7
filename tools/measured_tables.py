"""Tables of what was measured at full scale, in Markdown; `page_numbers` writes them into the pages."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from tools.markdown_tables import table
from zerosnet.data import source
from zerosnet.environment import ORIGIN_MARKS, origin_problem
from zerosnet.experiments import EXPERIMENTS, Evidence, Measured, MeasuredCell, RunEvidence, collect, summarise, welch
from zerosnet.numerics import Scheme, words_of_schemes
from zerosnet.report.page.configurations import Configuration, is_stable, panels
from zerosnet.report.page.runs_section import origin_legend
from zerosnet.training import RunSpec

_MARK = "⚠"  # as in the HTML report
_NOTHING = "Nothing has been measured yet."
_CONTROL_HEADS = ("Attack", "eps", "zero-stable, %", "not zero-stable, %", "difference of the means")
_CONTROLS = {"clean": "none", "fgsm": "FGSM", "pgd-20": "PGD-20", "random signs": "random signs", "huge eps": "PGD-20"}
_SIGNED = 2  # the paper's eps are for inputs in [-1, 1], those of attacks for [0, 1]


def runs_table(evidence: Evidence) -> str:
    """A line for every network, all seeds of it together: accuracies, time and hardware. Screening is left out."""
    trained = [run for run in evidence.runs if run.record.spec.recipe.name != "screen"]
    screened = len(evidence.runs) - len(trained)
    heads = ("Network", "Data, recipe", "Seeds", "Last epoch, %", "Best epoch, %", "Seconds per network", "Trained on")
    lines = (_run_line(panel.title, one) for panel in panels(trained) for one in panel.members)
    more = [f"{screened} more runs by recipe `screen` are in `runs/`; [this page](../docs/screening.md) has their map."]
    return "\n\n".join([table(heads, lines), *origin_legend(trained), *(more if screened else [])])


def accuracy_tables(evidence: Evidence) -> str:
    """The experiments that are read from training alone."""
    return _tables(one for one in _measured(evidence) if not one.experiment.protocols("full"))


def all_tables(evidence: Evidence) -> str:
    return _tables(_measured(evidence))


def fgsm_controls(evidence: Evidence) -> str:
    """Compare FGSM with PGD and with random signs of the same radius, on all test images.

    The unit is a scheme, with the mean of its seeds, as in the findings.
    """
    lines = control_lines(evidence)
    return table(_CONTROL_HEADS, lines) if lines else _NOTHING


def overview(evidence: Evidence) -> str:
    """Count, per experiment, the networks that have given a number."""
    done = {one.experiment.name: one for one in _measured(evidence)}
    lines = []
    for name, experiment in EXPERIMENTS.items():
        wanted = experiment.specs("full")
        if wanted and not any(source(spec.dataset).embedded for spec in wanted):
            state = f"{done[name].done} of {done[name].wanted} networks" if name in done else "not run"
            lines.append((experiment.reference.partition(" (")[0], f"`{name}`", state))
    return table(("In the paper", "Experiment", "Measured"), lines)


KINDS: dict[str, Callable[[Evidence], str]] = {
    "overview": overview,
    "runs": runs_table,
    "accuracies": accuracy_tables,
    "all tables": all_tables,
    "FGSM and its controls": fgsm_controls,
}


# -- their parts -------------------------------------------------------------------------------------------------------


def _measured(evidence: Evidence) -> list[Measured]:
    tables = (collect(experiment, evidence, "full") for experiment in EXPERIMENTS.values())
    return [one for one in tables if one.done or (evidence.runs and one.experiment.command)]


def _tables(tables: Iterable[Measured]) -> str:
    return "\n\n".join(map(_experiment, tables)) or _NOTHING


def _experiment(measured: Measured) -> str:
    """List the rows that have a number; below them notes, failed sanity checks, and how many rows are missing."""
    experiment = measured.experiment
    cells = {(cell.row, cell.column): cell for cell in measured.cells if cell.compared is not None}
    columns = [column for column in experiment.columns if any(key == column.key for _, key in cells)]
    rows = [row for row in experiment.rows if any(key == row.key for key, _ in cells)]
    lines = [(*row.labels, *(_number(cells.get((row.key, column.key))) for column in columns)) for row in rows]
    parts = [
        f"**{experiment.title}** ({experiment.reference.partition(' (')[0]}, `{experiment.name}`)",
        table((*experiment.heads, *(column.title for column in columns)), lines),
        *([_sentences(experiment.notes)] if experiment.notes else []),
        *_warnings(measured),
    ]
    waiting = {cell.row for cell in measured.cells if cell.status == "not run"} - {row.key for row in rows}
    if waiting:
        parts.append(f"Not run: {len(waiting)} of {len(experiment.rows)} rows.")
    return "\n\n".join(parts)


def _sentences(notes: Iterable[str]) -> str:
    """Write notes, which begin small and have no full stop, as sentences."""
    return " ".join(f"{note[0].upper()}{note[1:]}." for note in notes)


def _number(cell: MeasuredCell | None) -> str:
    """The number; then n if seeds are missing, a mark if a sanity check failed, and the paper's number in brackets."""
    if cell is None:
        return "not run"
    few = f" (n={len(cell.values)})" if cell.status == "partial" else ""
    mark = f" {_MARK}" if cell.doubtful else ""
    printed = f" [{cell.printed.text}]" if cell.printed is not None else ""
    return f"{cell.compared}{few}{mark}{printed}"


def _warnings(measured: Measured) -> list[str]:
    """The failed sanity checks of the runs behind a table's numbers, as a list with its title, if there are any."""
    if not measured.warnings:
        return []
    title = f"{_MARK} Sanity checks of the attacks failed; these adversarial accuracies may be too high:"
    return [title, "\n".join(f"- `{run}`: {'; '.join(lines)}" for run, lines in measured.warnings.items())]


def _run_line(title: str, one: Configuration) -> tuple[str, ...]:
    ended = [run for run in one.runs if run.record.result is not None]
    results = [run.record.result for run in ended if run.record.result is not None]
    seconds = summarise([result.seconds for result in results])
    trained = {_hardware(run.environment) for run in ended}
    return (
        _named(one.spec),
        title,
        ", ".join(_marked_seed(run) for run in ended),
        _percentages([result.test_accuracy for result in results]),
        _percentages([result.best_test_accuracy for result in results]),
        "" if seconds is None else f"{seconds.mean:.0f}",
        "; ".join(sorted(trained)),
    )


def _named(spec: RunSpec) -> str:
    if spec.block_schemes is not None:
        schemes = [str(scheme) for scheme in spec.block_schemes]
        return f"{spec.model} `{schemes[0]}`, {words_of_schemes(schemes)}"
    return spec.model if spec.scheme is None else f"{spec.model} `{spec.scheme}`"


def _marked_seed(run: RunEvidence) -> str:
    return f"{run.record.spec.seed}{ORIGIN_MARKS.get(origin_problem(run.environment) or '', '')}"


def _hardware(environment: dict[str, object]) -> str:
    gpu, cpu = environment.get("gpu") or {}, environment.get("cpu") or {}
    assert isinstance(gpu, dict) and isinstance(cpu, dict)
    kernels = {"native": ", our kernels", "torch": ", plain torch"}.get(str(environment.get("kernels")), "")
    return f"{', '.join(gpu.get('names', [])) or cpu.get('model', 'unknown')}{kernels}"


def _percentages(fractions: Sequence[float | None]) -> str:
    """Write all numbers, and their mean if there are several."""
    values = [round(100 * fraction, 9) for fraction in fractions if fraction is not None]
    if not values:
        return "diverged"
    each = ", ".join(f"{value:.2f}" for value in values)
    return each if len(values) == 1 else f"{each}: {summarise(values)}"


def control_lines(evidence: Evidence) -> list[tuple[str, ...]]:
    """A line for every attack and radius: lowest and highest accuracy of either side, and what they differ by."""
    wanted = set(EXPERIMENTS["table-fgsm"].specs("full"))
    found: dict[tuple[str, float], dict[Scheme, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in evidence.runs:
        attack = run.attacks.get("paper-fgsm")
        if run.record.spec not in wanted or run.scheme is None or attack is None:
            continue
        whole = max((row.images for row in attack.rows), default=0)
        for row in attack.rows:
            if row.images == whole:
                setting = _CONTROLS.get(row.method, row.method), _SIGNED * (row.eps or 0.0)
                found[setting][run.scheme].append(100 * row.accuracy)
    return [_control_line(*setting, schemes) for setting, schemes in found.items()]


def _control_line(name: str, eps: float, schemes: dict[Scheme, list[float]]) -> tuple[str, ...]:
    stable, others = ([mean(each) for one, each in schemes.items() if is_stable(one) is kind] for kind in (True, False))
    difference = welch(stable, others)
    return (
        name,
        f"{eps:g}",
        _lowest_to_highest(stable),
        _lowest_to_highest(others),
        "" if difference is None else str(difference),
    )


def _lowest_to_highest(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}" if values else "not run"

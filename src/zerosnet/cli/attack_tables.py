"""What `zerosnet attack` prints: tables of accuracies, means over corruptions, notes and warnings."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from zerosnet.cli import output
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from zerosnet.robustness import CorruptionErrors, ProtocolResult, ResultRow
    from zerosnet.training import RunSpec

    Results = Mapping[str, ProtocolResult]
    Specs = Mapping[str, RunSpec]

REFERENCE = "preresnet56"  # whose errors the mean corruption error is relative to
_LONGEST_LABEL = 34  # characters of a setting's name before it is folded


def print_results(results: "Results", specs: "Specs") -> None:
    """Print the results of runs, whose specs are given by the same ids."""
    console = output.console()
    measured = {run: result for run, result in results.items() if result.rows}
    if measured:
        for line in _names(measured):
            console.print(line, soft_wrap=True)
        for table in _tables(measured, console.width):
            console.print(table)
        _print_means(measured, specs)
    for line in [*_remarks(results), *_other_noises(measured, specs)]:
        console.print(line, soft_wrap=True)


def _tables(measured: "Results", width: int) -> "Iterator[Table]":
    """Make tables with one line per setting and one column per run; several runs are named by their number."""
    from rich import box
    from rich.table import Table

    numbered = list(enumerate(measured.values(), start=1))
    alone = len(measured) == 1
    columns = {number: {_label(row): f"{100 * row.accuracy:.2f}" for row in result.rows} for number, result in numbered}
    labels = _labels(measured)
    together = max(1, (width - min(_LONGEST_LABEL, max(map(len, labels), default=0))) // 8)
    for first in range(0, len(numbered), together):
        part = numbered[first : first + together]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("" if alone else "accuracy, %", overflow="fold")
        for number, result in part:
            head = ("accuracy, %" if alone else str(number)) + _mark(result)
            table.add_column(head, justify="right", no_wrap=True)
        for label in labels:
            cells = [columns[number].get(label, "-") for number, _ in part]
            if set(cells) != {"-"}:
                table.add_row(label, *cells)
        yield table


def _labels(measured: "Results") -> list[str]:
    """List the settings of all runs; certificates of different noises by rising radius."""
    rows = {_label(row): row for result in measured.values() for row in result.rows}
    if any(row.method == "certified" for row in rows.values()):
        return sorted(rows, key=lambda label: (rows[label].method == "abstained", rows[label].eps or 0.0))
    return list(rows)


def _label(row: "ResultRow") -> str:
    """Write a setting's label with its eps as a fraction of 255, if it is one."""
    from zerosnet.robustness import radius_text

    return row.label if row.eps is None else row.label.replace(f"eps {row.eps:.4g}", f"eps {radius_text(row.eps)}")


def _names(measured: "Results") -> list[str]:
    """List the runs of the table, numbered as its columns are, with the noise that they are smoothed by."""
    sigmas = {run: _sigma(result) for run, result in measured.items()}
    smoothed = {run: "" if sigma is None else f", sigma {sigma:g}" for run, sigma in sigmas.items()}
    names = [f"{run}{smoothed[run]}{_mark(result)}" for run, result in measured.items()]
    return names if len(names) == 1 else [f"{number:3}  {name}" for number, name in enumerate(names, start=1)]


def _mark(result: "ProtocolResult") -> str:
    return " (!)" if result.warnings else ""


def _sigma(result: "ProtocolResult") -> float | None:
    return next((row.settings["sigma"] for row in result.rows if "sigma" in row.settings), None)


def _print_means(measured: "Results", specs: "Specs") -> None:
    """Print the mean error over corruptions, and the mCE of runs that were measured beside the reference network."""
    from zerosnet.robustness import corruption_errors

    if not all(any(row.method == "corruption" for row in result.rows) for result in measured.values()):
        return
    errors = {run: corruption_errors([result]) for run, result in measured.items()}
    relative = {run: _relative_error(run, measured, errors, specs) for run in errors}
    rows = [
        (str(number), one.source, str(len(one.counted)), f"{one.mean:.2f}", relative[run] or "-")
        for number, (run, one) in enumerate(errors.items(), start=1)
    ]
    columns = ("run", "images", "corruptions", "mean error, %", "mCE, %")
    first, last = int(len(rows) == 1), len(columns) - (not any(relative.values()))
    output.print_table(
        "Mean over corruptions", columns[first:last], [row[first:last] for row in rows], right=columns[2:]
    )
    references = ", ".join(run for run in errors if _is_reference(specs[run]))
    if any(relative.values()):
        print(f"mCE: errors relative to those of {references}")
    elif references:
        print(f"no mCE: {references} makes no error under some corruption; it needs more images")


def _relative_error(
    run: str, measured: "Results", errors: "Mapping[str, CorruptionErrors]", specs: "Specs"
) -> str | None:
    """Write a run's mCE, relative to the mean of the reference's runs; None if none was measured on the same images."""
    from zerosnet.robustness import corruption_errors, mean_corruption_error

    own = errors[run]
    alike = [
        measured[name]
        for name, other in errors.items()
        if _is_reference(specs[name])
        and specs[name].dataset == specs[run].dataset
        and (other.source, other.by_severity.keys()) == (own.source, own.by_severity.keys())
    ]
    try:
        return f"{mean_corruption_error(own, corruption_errors(alike)):.2f}" if alike else None
    except InputError:  # a reference without any error, as on a handful of images
        return None


def _is_reference(spec: "RunSpec") -> bool:
    return spec.model == REFERENCE and spec.scheme is None


def _remarks(results: "Results") -> list[str]:
    """List what was not run, notes, sanity checks that were not made, and those that failed."""
    notes = {note: None for result in results.values() for note in result.notes}
    not_made = {check: None for result in results.values() for check in result.not_made}
    lines = [f"not run: {run}: {result.not_run}" for run, result in results.items() if result.not_run]
    lines += [f"note: {note}" for note in notes]
    lines += [f"sanity check not made: {check}" for check in not_made]
    return lines + [f"WARNING (!) {run}: {warning}" for run, result in results.items() for warning in result.warnings]


def _other_noises(measured: "Results", specs: "Specs") -> list[str]:
    """Name the runs that are smoothed by another noise than they were trained with."""
    lines = []
    for run, result in measured.items():
        noise, sigma = specs[run].recipe.noise, _sigma(result)
        if sigma is not None and sigma != noise:
            trained = f"with noise of {noise:g}" if noise else "without noise"
            lines.append(f"note: {run} was trained {trained}, and is smoothed by {sigma:g}")
    return lines

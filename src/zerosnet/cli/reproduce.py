"""`zerosnet reproduce`: the paper's tables, run and compared; without arguments its claim tested in minutes."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerosnet.cli import training as options
from zerosnet.cli.main import app
from zerosnet.cli.output import print_json, print_table
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.experiments import Claim, Difference, Experiment, Finding, Left, Measured, PairFinding, Scale
    from zerosnet.experiments.findings import Depth
    from zerosnet.experiments.listing import Listed
    from zerosnet.experiments.measured import MeasuredCell
    from zerosnet.training import Clock, Store

_MANY_ROWS = 40  # a table with more is summed up
_MANY_WARNINGS = 12  # so are more failed sanity checks


@app.command(short_help="Run experiments of the paper and show ours beside its numbers.")
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; see --list. None: the demonstration.")] = None,
    scale: Annotated[str, typer.Option(help="demo (digits, minutes on a CPU), reduced or full.")] = "demo",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help='Runs whose id matches, such as "*56*-s1-*"; may be repeated.'),
    ] = None,
    data: options.Data = None,
    store: options.StoreFolder = "runs",
    device: options.Device = "auto",
    max_seconds: options.MaxSeconds = None,
    engine: options.Engine = "local",
    address: options.Address = "auto",
    output: Annotated[str, typer.Option("--output", "-o", help="The report to write.")] = "report.html",
    list_all: Annotated[
        bool, typer.Option("--list", help="Show all experiments, their cost and what is done.")
    ] = False,
    json: options.AsJson = False,
) -> None:
    """Run experiments of the paper and our own, show ours beside the printed numbers, and write the report.

    What is finished is never run again: the same command goes on where it was stopped.
    """
    from zerosnet.experiments import EXPERIMENTS, experiment, records_of
    from zerosnet.experiments import scale as find_scale
    from zerosnet.experiments.listing import listing
    from zerosnet.experiments.runner import DEMO
    from zerosnet.training import Store

    options.check_alone("reproduce")
    options.check_engine(engine, address)
    place, at = Store(store), find_scale(scale)
    chosen = [experiment(name) for name in names or DEMO]
    part = replace(at, only=tuple(only or ()))
    if only and not any(one.specs(part) for one in (EXPERIMENTS.values() if list_all and not names else chosen)):
        known = next((spec.id for one in chosen for spec in one.specs(at)), "none")
        raise InputError(f"--only is {', '.join(only)}, which no run of these experiments matches; one is {known}")
    if list_all:
        listed = [one for one in listing(records_of(place), part) if not names or one.name in names]
        if json:
            print_json([one.to_json() for one in listed])
        else:
            _show_list(listed)
        return
    from zerosnet.experiments import claims, collect, findings, pair_findings
    from zerosnet.experiments.findings import depths, used_blocks
    from zerosnet.experiments.recorded import recorded
    from zerosnet.report.files import page_file
    from zerosnet.training import Clock

    page, clock = page_file(output), Clock(max_seconds)
    left = _run(chosen, part, place, data, device, clock, address if engine == "ray" else None)
    records = records_of(place)
    tables = [collect(one, records, at) for one in chosen]
    found: list[list[Finding | PairFinding]] = [
        [*findings(table, records), *pair_findings(table)] if table.done else [] for table in tables
    ]
    if json:
        print_json(
            [
                table.to_json() | {"findings": [finding.to_json() for finding in each]}
                for table, each in zip(tables, found)
            ]
        )
    else:
        print(f"Scale {at.name}: {at.what}\n")
        if names:
            for table, each in zip(tables, found):
                _show_table(table, each, depths(table, records))
            _show_claims([claim for claim in claims() if claim.experiment in names])
            for table in recorded() if at.name == "demo" else ():
                if table.experiment.name in names:
                    _show_table(table, [], {})
        else:  # what was just trained comes last, where it is seen
            _show_claims(claims())
            _show_recorded(recorded())
            _show_demo(tables, found, depths(tables[0], records), used_blocks(tables[0], records))
    _write_report(page, place)
    if not left.nothing:
        cause = "the time limit" if clock.signal is None else clock.signal.name
        why = f"stopped by {cause}; " if clock.must_stop() else ""
        print(
            f"zerosnet: {why}the same command goes on with {left.runs} run(s) and {left.attacks} measurement(s)",
            file=sys.stderr,
        )
    raise typer.Exit(0 if clock.signal is None else 128 + clock.signal)


def _run(
    chosen: "Sequence[Experiment]",
    at: "Scale",
    store: "Store",
    data: Path | None,
    device: str,
    clock: "Clock",
    address: str | None,
) -> "Left":
    """Run experiments here, or on the Ray cluster at an address."""
    from zerosnet.experiments import reproduce
    from zerosnet.training import Options
    from zerosnet.training.precision import find_device
    from zerosnet.training.progress import progress

    if address is None:
        return reproduce(chosen, at, store, Options(find_device(device), data), clock, progress())
    from zerosnet.training.cluster import connected

    with connected(address) as cluster:
        options = Options(cluster.device(device), data)
        return reproduce(chosen, at, store, options, clock, progress(), cluster)


def _write_report(page: Path, store: "Store") -> None:
    from zerosnet.report import write_report

    if store.root.exists():
        print(f"report: {write_report(page, [store])}", file=sys.stderr)


def _show_list(listed: "Sequence[Listed]") -> None:
    rows = [
        (
            one.name,
            one.reference.partition(" (")[0],
            one.status,
            f"{one.runs_done}/{one.runs}",
            f"{one.attacks_done}/{one.attacks}",
            _duration(one.left.gpu_seconds),
            _duration(one.left.cpu_seconds),
        )
        for one in listed
    ]
    heads = ("experiment", "in the paper", "status", "runs", "attacks", "left, H200", "left, 2 cores")
    print_table(f"Experiments at scale {listed[0].scale}", heads, rows, right=heads[3:])


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    if seconds == 0:
        return "-"
    if seconds < 60:
        return "< 1 min"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _show_table(table: "Measured", found: "Sequence[Finding | PairFinding]", depth: "dict[str, Depth]") -> None:
    """Ours beside the paper's: mean, deviation, the number of seeds, and the paper's number in brackets."""
    experiment = table.experiment
    rows = [row for row in experiment.rows if any(_is_measured(table, row.key, c.key) for c in experiment.columns)]
    quoted = ", in brackets the paper's" if table.scale != "demo" else ""
    title = f"{experiment.title} ({experiment.name}, scale {table.scale}{quoted})"
    columns = [c for c in experiment.columns if any(_is_measured(table, row.key, c.key) for row in rows)]
    if not rows:
        print(f"{title}: not run\n")
        return
    heads = (*experiment.heads, *(c.title for c in columns), *(["blocks used"] if depth else []))
    lines = []
    for row in rows[:_MANY_ROWS]:
        used = [f"{depth[row.key].used:.1f} of {depth[row.key].blocks}" if row.key in depth else ""] if depth else []
        lines.append((*row.labels, *(_text(table, row.key, c.key) for c in columns), *used))
    print_table(title, heads, lines, right=heads[len(experiment.heads) :])
    if len(rows) > _MANY_ROWS:
        print(f"... and {len(rows) - _MANY_ROWS} more rows")
    if len(rows) < len(experiment.rows):
        print(f"not run at this scale: {len(experiment.rows) - len(rows)} of {len(experiment.rows)} rows")
    _show_warnings([table])
    for finding in found:
        print(f"{finding.column}{f', {finding.group}' if finding.group else ''}: {finding.verdict}")
    print()


_FIRST, _ACCURACY = "table-zerosnet-cifar10", "Test acc. (%)"
_DEMO_COLUMNS = (
    (_FIRST, _ACCURACY, "accuracy, %"),
    ("table-robustness", "[-0.08, 0]", "uniform noise"),
    ("table-constant-noise", "mu=0.4", "constant 0.4"),
    ("table-fgsm", "eps=0.3", "FGSM 0.3"),
)


def _show_demo(
    tables: "Sequence[Measured]",
    found: "Sequence[Sequence[Finding | PairFinding]]",
    depth: "dict[str, Depth]",
    blocks: "Difference | None",
) -> None:
    """One table for the ten networks: a column of each experiment, and how many blocks are really used."""
    heads, rows = _ten_networks(tables, list(depth))
    lines = [(*row, f"{used.used:.1f} of {used.blocks}") for row, used in zip(rows, depth.values())]
    title = "Ten networks of 56 layers, trained on digits (mean±deviation over seeds)"
    print_table(title, (*heads, "blocks used"), lines, right=(*heads[2:], "blocks used"))
    print("blocks used: with f switched off in all later ones the accuracy is the same within 1 %\n")
    _show_warnings(tables)
    if blocks is not None:
        print(f"blocks used: zero-stable networks {blocks}{'' if blocks.certain else ', undecided'}")
    print("Digits are easy, so accuracies crowd together; real images, above, pull them apart.")
    verdicts = {(one.experiment, one.column): one.verdict for each in found for one in each}
    for name, column, title in _DEMO_COLUMNS:
        if (name, column) in verdicts:
            print(f"{title}: {verdicts[name, column]}")
    print("all levels: zerosnet reproduce table-constant-noise (and the others of --list)\n")


def _is_measured(table: "Measured", row: str, column: str) -> bool:
    cell = table.cell(row, column)
    return cell is not None and bool(cell.values)


def _text(table: "Measured", row: str, column: str, seeds: bool = True) -> str:
    cell = table.cell(row, column)
    if cell is None or cell.compared is None:
        return "not run"
    printed = f" [{cell.printed.text}]" if cell.printed is not None and table.scale != "demo" else ""
    short = "" if cell.status == "measured" or not seeds else f" (n={len(cell.values)})"
    return f"{cell.compared}{short}{_mark(cell)}{printed}"


def _mark(cell: "MeasuredCell") -> str:
    return " (!)" if cell.doubtful else ""


def _show_warnings(tables: "Sequence[Measured]") -> None:
    """Failed sanity checks of attacks; the numbers that they are about are marked."""
    found = [
        f"WARNING (!) {run}: {line}" for table in tables for run, lines in table.warnings.items() for line in lines
    ]
    for line in found[:_MANY_WARNINGS]:
        print(line)
    if len(found) > _MANY_WARNINGS:
        print(f"WARNING (!) ... and {len(found) - _MANY_WARNINGS} more sanity checks failed; the report has all")


def _show_recorded(tables: "Sequence[Measured]") -> None:
    """The same ten networks as the demo's, as far as they were measured when this package was made."""
    from zerosnet.experiments.measured import distinct_cells

    first = next((table for table in tables if table.experiment.name == _FIRST), None)
    if first is None:
        return
    keys = [
        row.key for row in first.experiment.rows if row.labels[0] == "56" and _is_measured(first, row.key, _ACCURACY)
    ]
    heads, rows = _ten_networks(tables, keys)
    title = "Measured earlier on CIFAR-10, in brackets the paper's; no deviation: one seed"
    print_table(title, heads, rows, right=heads[2:])
    _show_warnings(tables)
    print(f"in all {sum(cell.printed is not None for cell in distinct_cells(tables))} numbers: in the report\n")


def _ten_networks(tables: "Sequence[Measured]", keys: "Sequence[str]") -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and lines of one table for these rows of Table 3: a column of each experiment that is there."""
    by_name = {table.experiment.name: table for table in tables}
    columns = [column for column in _DEMO_COLUMNS if column[0] in by_name]
    lines: list[tuple[str, ...]] = []
    for key in keys:
        _, moduli, stable = by_name[_FIRST].experiment.row(key).labels
        rows = {_FIRST: key}
        lines.append(
            (
                moduli,
                stable,
                *(_text(by_name[name], rows.get(name, moduli), column, seeds=False) for name, column, _ in columns),
            )
        )
    return ("roots' moduli", "Z. S.", *(title for *_, title in columns)), lines


def _show_claims(said: "Sequence[Claim]") -> None:
    rows = [(claim.verdict, claim.text, claim.because) for claim in said]
    print_table("What the paper says of its own tables, recomputed", ("verdict", "claim", "because"), rows)
    print()

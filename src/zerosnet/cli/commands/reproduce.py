"""`zerosnet reproduce`: the paper's tables, run and compared; without arguments a demonstration in minutes."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zerosnet.cli.demo import DEMO_SCALE, predict_first, show_demo, the_point
from zerosnet.cli.experiment_tables import show_claims, show_table
from zerosnet.cli.main import app
from zerosnet.cli.options import Session, cause, check_alone, exit_code, note_unused, with_fields
from zerosnet.cli.output import print_json, print_table
from zerosnet.errors import InputError
from zerosnet.training import Options

if TYPE_CHECKING:
    from zerosnet.experiments import Evidence, Finding, Listed, Measured, PairFinding, Scale


@app.command(short_help="Run experiments of the paper and show ours beside its numbers.")
@with_fields
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; see --list. None: the demonstration.")] = None,
    scale: Annotated[str, typer.Option(help="demo (embedded data, minutes on a CPU), reduced or full.")] = "demo",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help='Runs whose id matches, such as "*56*-s1-*"; may be repeated.'),
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="The report to write.")] = "report.html",
    list_all: Annotated[
        bool, typer.Option("--list", help="Show all experiments, their cost and what is done.")
    ] = False,
    *,
    options: Options,
    session: Session,
) -> None:
    """Run experiments of the paper and our own, show ours beside the printed numbers, and write the report.

    Without names: eight networks that are alike but for the four numbers of their scheme, on embedded data that need
    depth, with what is predicted of them before they are trained.

    What is finished is never run again: the same command goes on where it was stopped.
    """
    from zerosnet.experiments import DEMO, EXPERIMENTS, experiment, listing, read_evidence
    from zerosnet.experiments import scale as find_scale
    from zerosnet.training import Store

    check_alone("reproduce")
    store, at = Store(session.store), find_scale(scale)
    chosen = [experiment(name) for name in names or DEMO]
    part = replace(at, only=tuple(only or ()))
    if only and not any(one.specs(part) for one in (EXPERIMENTS.values() if list_all and not names else chosen)):
        known = next((spec.id for one in chosen for spec in one.specs(at)), "none")
        raise InputError(f"--only is {', '.join(only)}, which no run of these experiments matches; one is {known}")
    if list_all:
        listed = [one for one in listing(read_evidence(store), part) if not names or one.name in names]
        if session.json:
            print_json([one.to_json() for one in listed])
        else:
            _show_list(listed, named=bool(names))
        return
    from zerosnet.experiments import collect, findings, pair_findings, what_is_left
    from zerosnet.experiments import reproduce as run
    from zerosnet.report import page_file
    from zerosnet.training import Clock, open_engine, progress

    page, clock = page_file(output), Clock(session.max_seconds)
    note_unused(options, (spec.dataset for one in chosen for spec in one.specs(part)))
    with open_engine(session) as engine:
        if not names and scale == DEMO_SCALE:
            predict_first(chosen[0], store.root, quiet=session.json)
        evidence = run(chosen, part, store, options, clock, progress(), engine)
    left = what_is_left(chosen, part, evidence)
    stopped = clock.must_stop() and not left.nothing
    tables = [collect(one, evidence, at) for one in chosen]
    found: list[list[Finding | PairFinding]] = [
        [*findings(table, evidence), *pair_findings(table)] if table.done else [] for table in tables
    ]
    if session.json:
        print_json([_document(table, each, evidence) for table, each in zip(tables, found)])
    else:
        if any(table.done for table in tables) or not stopped:
            _show_new(tables, found, evidence, names, stopped)
        if not stopped:
            _show_known(names or [], at, evidence)
    if store.root.exists() or not stopped:
        _write_report(page, evidence, names or ())
    if evidence.runs and not session.json:
        print(f"runs: zerosnet runs --store {store.root}", file=sys.stderr)
    point = None if names or session.json else the_point(tables[0])
    if point is not None:
        print(point, flush=True)
    if not left.nothing:
        why = f"stopped by {cause(clock)}; " if stopped else ""
        print(
            f"zerosnet: {why}the same command goes on with {left.runs} run(s) and {left.attacks} measurement(s)",
            file=sys.stderr,
        )
    raise typer.Exit(exit_code(clock))


def _document(table: "Measured", found: "Sequence[Finding | PairFinding]", evidence: "Evidence") -> dict[str, Any]:
    """A table for programs: its cells, what was predicted of its rows, and what was found."""
    from zerosnet.experiments import predicted_rows

    predicted = [{"row": row, **one.to_json()} for row, one in predicted_rows(table, evidence).items()]
    return table.to_json() | {"predicted": predicted, "findings": [finding.to_json() for finding in found]}


def _show_new(
    tables: "Sequence[Measured]",
    found: "Sequence[Sequence[Finding | PairFinding]]",
    evidence: "Evidence",
    names: Sequence[str] | None,
    stopped: bool,
) -> None:
    """Show the experiments, one by one if they were named; after a stop only those that have runs."""
    from zerosnet.experiments import depths, predicted_rows

    if not names:
        show_demo(tables[0], depths(tables[0], evidence))
        return
    print(f"Scale {tables[0].scale}\n")
    for table, each in zip(tables, found):
        if table.done or not stopped:
            show_table(table, each, depths(table, evidence), predicted_rows(table, evidence))


def _show_known(names: Sequence[str], at: "Scale", evidence: "Evidence") -> None:
    """Show what was known before: the paper's sentences, and what was measured when this package was made."""
    from zerosnet.experiments import claims, predicted_rows, recorded, whole

    show_claims([claim for claim in claims() if claim.experiment in names])
    for table in recorded() if at.name == "demo" else ():
        if table.experiment.name in names:
            known = whole(table)
            show_table(known, [], {}, predicted_rows(known, evidence))


def _write_report(page: Path, evidence: "Evidence", names: Sequence[str]) -> None:
    from zerosnet.report import write_report

    print(f"report: {write_report(page, evidence, named=names)}", file=sys.stderr)


def _show_list(listed: "Sequence[Listed]", *, named: bool) -> None:
    rows = [
        (
            one.name,
            one.reference.partition(" (")[0],
            f"{one.runs_done}/{one.runs}" if one.runs else _NO_RUNS.get(one.status, one.status),
            _duration(one.left.gpu_seconds),
            _duration(one.left.cpu_seconds),
            f"{one.measured}/{one.numbers}",
            _span(one.seeds),
        )
        for one in listed
    ]
    heads = ("experiment", "paper", "runs", "H200", "2 cores", "numbers", "seeds")
    print_table(f"Experiments at scale {listed[0].scale}", heads, rows, right=heads[2:], whole=heads[:1])
    if any(one.status in _NO_RUNS for one in listed):
        print("runs: done and all of this scale; none: the experiment needs a larger one")
    print("runs: how many ended in the store (--store); H200, 2 cores: time left for the others")
    print("numbers: how many of the table's are measured at full scale, in the store or in our records")
    print("seeds: how many runs each of these numbers is the mean of")
    printed = [one for one in listed if one.name.startswith("table-")]
    measured, numbers = sum(one.measured for one in printed), sum(one.numbers for one in printed)
    if len(printed) > 1:
        print(f"{'these' if named else 'all'} tables of the paper together: {measured} of {numbers} numbers")


_NO_RUNS = {"not at this scale": "none"}


def _span(seeds: tuple[int, int] | None) -> str:
    if seeds is None:
        return "-"
    return str(seeds[0]) if seeds[0] == seeds[1] else f"{seeds[0]} to {seeds[1]}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds == 0:
        return "-"
    if seconds < 60:
        return "< 1 min"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

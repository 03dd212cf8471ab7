"""`zerosnet report`: one page of everything that stores hold."""

import sys
from typing import Annotated

import typer

from zerosnet.cli.main import app


@app.command(short_help="Write one self-contained HTML page of tables, figures and runs.")
def report(
    stores: Annotated[list[str] | None, typer.Argument(help="Folders that hold runs; runs by default.")] = None,
    store: Annotated[
        list[str] | None, typer.Option("--store", metavar="DIR", help="Another way to name such a folder.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = "report.html",
    paper: Annotated[bool, typer.Option(help="All of the paper's tables, also those without a run.")] = False,
) -> None:
    """Write one self-contained HTML page: your runs by scheme, predicted beside measured, and the paper's tables."""
    from zerosnet.report import evidence_for_page, no_runs, page_file, write_report

    target = page_file(output)
    evidence = evidence_for_page([*(stores or []), *(store or [])] or ["runs"])
    path = write_report(target, evidence, paper=paper)
    if (warning := no_runs(evidence)) is not None:
        print(f"zerosnet: {warning}", file=sys.stderr)
    size = path.stat().st_size
    print(f"Report: {path} ({size / 1e6:.1f} MB)" if size >= 1e5 else f"Report: {path} ({size / 1e3:.0f} kB)")

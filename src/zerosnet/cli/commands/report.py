"""`zerosnet report`: one page of everything that stores hold."""

from typing import Annotated

import typer

from zerosnet.cli.main import app


@app.command(short_help="Write one self-contained HTML page of tables, figures and runs.")
def report(
    stores: Annotated[list[str] | None, typer.Argument(help="Folders that hold runs; runs by default.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = "report.html",
    paper: Annotated[bool, typer.Option(help="All of the paper's tables, also those without a run.")] = False,
) -> None:
    """Write one self-contained HTML page: your runs by scheme, predicted beside measured, and the paper's tables."""
    from zerosnet.report import write_report

    path = write_report(output, stores or ["runs"], paper=paper)
    size = path.stat().st_size
    print(f"Report: {path} ({size / 1e6:.1f} MB)" if size >= 1e5 else f"Report: {path} ({size / 1e3:.0f} kB)")

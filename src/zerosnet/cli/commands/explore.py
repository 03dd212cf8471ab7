"""`zerosnet explore`: the explorer page, served or written to a folder."""

from pathlib import Path

import typer

from zerosnet.cli.main import app
from zerosnet.errors import InputError


@app.command(short_help="Open a page on which to see zero stability.")
def explore(
    host: str = typer.Option("127.0.0.1", help="Where to listen; 0.0.0.0 lets other machines in."),
    port: int = typer.Option(8765, help="0 takes a free one."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Only print the address."),
    export: str | None = typer.Option(None, metavar="DIR", help="Write a page that needs no server, and end."),
    step: str | None = typer.Option(None, help="With --export: the step of the sliders, 1/40 by default."),
) -> None:
    """Open a page on which to see zero stability: choose a family, drag its parameter, compare two schemes.

    Everything is served from this machine; Ctrl-C ends it. The numbers are at /api, for programs too. With --export
    the families are computed on a grid, and the page works from a disk.
    """
    if export is not None:
        from zerosnet.explorer import export_page

        written = export_page(export, step or "1/40", lambda line: print(line, flush=True))
        size = sum(path.stat().st_size for path in written) / 1e6
        print(f"{Path(export) / 'index.html'}: {len(written)} files, {size:.1f} MB")
        return
    if step is not None:
        raise InputError("--step is given without --export")
    from zerosnet.explorer import serve

    serve(host, port, browser=not no_browser, report=lambda line: print(line, flush=True))

"""`zerosnet explore`: the explorer page."""

import typer

from zerosnet.cli.main import app


@app.command(short_help="Open a page on which to see zero stability.")
def explore(
    host: str = typer.Option("127.0.0.1", help="Where to listen; 0.0.0.0 lets other machines in."),
    port: int = typer.Option(8765, help="0 takes a free one."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Only print the address."),
) -> None:
    """Open a page on which to see zero stability: choose a family, drag its parameter, compare two schemes.

    Everything is served from this machine; Ctrl-C ends it. The numbers are at /api, for programs too.
    """
    from zerosnet.explorer import serve

    serve(host, port, browser=not no_browser, say=lambda line: print(line, flush=True))

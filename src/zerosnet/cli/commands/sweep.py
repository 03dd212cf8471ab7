"""`zerosnet sweep`: a file of runs, or a grid of them."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from zerosnet.cli.main import app
from zerosnet.cli.options import (
    BetaGrowth,
    Epochs,
    InitGrowth,
    Precision,
    Session,
    StageChangeOption,
    begin,
    note_unused,
    show_outcome,
    with_fields,
)
from zerosnet.cli.output import scheme_option
from zerosnet.training import Options


@app.command(short_help="Train all runs of a file, as one if they can share a step.")
@with_fields
def sweep(
    file: Annotated[Path, typer.Argument(help="JSON or TOML: a list of specs, or an object with specs or a grid.")],
    scheme: Annotated[str | None, typer.Option(help="The scheme of all runs, in place of the file's.")] = None,
    epochs: Epochs = None,
    precision: Precision = None,
    stage_change: StageChangeOption = None,
    beta_growth: BetaGrowth = None,
    init_growth: InitGrowth = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="List what would run, about how long and, with --data, in which groups; nothing is trained.",
        ),
    ] = False,
    *,
    options: Options,
    session: Session,
) -> None:
    """Train all runs of a file; those that can share a step are trained as one. Finished runs are left as they are."""
    from zerosnet.training import Clock, read_sweep

    clock = Clock(session.max_seconds)
    specs = read_sweep(file)
    changes = {"scheme": None if scheme is None else scheme_option(scheme), "precision": precision}
    changes |= {"stage_change": stage_change, "beta_growth": beta_growth, "init_growth": init_growth}
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    specs = [replace(spec, **given) for spec in specs]
    if epochs is not None:
        specs = [replace(spec, recipe=replace(spec.recipe, epochs=epochs)) for spec in specs]
    note_unused(options, (spec.dataset for spec in specs))
    if dry_run:
        from zerosnet.cli.dry_run import show_plan

        show_plan(specs, session.store, options, session.json)
        return
    begin(specs, session.store, options)
    from zerosnet.training import Store, open_engine, progress

    store = Store(session.store)
    with open_engine(session) as engine:
        engine.train(specs, store, options, clock, progress())
    raise typer.Exit(show_outcome(specs, store, clock, session.json))

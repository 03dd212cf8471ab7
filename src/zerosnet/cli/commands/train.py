"""`zerosnet train`: one network, or one for every seed and scheme, trained as one."""

from typing import Annotated

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


@app.command(short_help="Train a network, one for every seed and scheme, side by side.")
@with_fields
def train(
    model: Annotated[str, typer.Argument(help="A model's name, such as zerosnet20_opt.")],
    dataset: Annotated[
        str,
        typer.Option(help="digits, mosaics, mnist, fashion-mnist, cifar10, cifar100, [image]folder[:NAME][@SIZE]."),
    ],
    recipe: Annotated[str, typer.Option(help="paper, official, fast, screen, quick, imagenet, ...")] = "paper",
    seed: Annotated[list[int] | None, typer.Option(help="May be given several times; 1 by default.")] = None,
    scheme: Annotated[
        list[str] | None, typer.Option(help='"zerosnet(1/2)", "1/3,5/9,1/9;16/9"; may be repeated.')
    ] = None,
    epochs: Epochs = None,
    batch: Annotated[
        int | None, typer.Option(help="Images in a step, over all processes, in place of the recipe's.")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate, in place of the recipe's.")] = None,
    noise: Annotated[
        float | None, typer.Option(help="Deviation of Gaussian noise on training images, in place of the recipe's.")
    ] = None,
    precision: Precision = None,
    validation: Annotated[float | None, typer.Option(help="The fraction to cut off the training set.")] = None,
    stage_change: StageChangeOption = None,
    beta_growth: BetaGrowth = None,
    init_growth: InitGrowth = None,
    *,
    options: Options,
    session: Session,
) -> None:
    """Train a network; several seeds or schemes make a run each, and runs that can share a step are trained as one.

    A finished run is not run again.
    """
    from zerosnet.training import Clock, RunSpec
    from zerosnet.training import recipe as find_recipe

    clock = Clock(session.max_seconds)
    given = {"epochs": epochs, "batch": batch, "lr": lr, "noise": noise}
    changes = {name: value for name, value in given.items() if value is not None}
    schemes = [scheme_option(text) for text in scheme] if scheme else [None]
    resolved = find_recipe(recipe, dataset, model, **changes)
    specs = [
        RunSpec(
            model, dataset, resolved, s, one, precision, validation, stage_change, beta_growth, init_growth=init_growth
        )
        for one in schemes
        for s in seed or [1]
    ]
    note_unused(options, [dataset])
    begin(specs, session.store, options)
    from zerosnet.training import Store, open_engine, progress

    store = Store(session.store)
    with open_engine(session) as engine:
        engine.train(specs, store, options, clock, progress())
    raise typer.Exit(show_outcome(specs, store, clock, session.json))

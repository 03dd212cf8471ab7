"""`zerosnet diagnose`: what every block of a network does."""

from typing import TYPE_CHECKING, Annotated

import typer

from zerosnet.cli.main import app
from zerosnet.cli.named_network import SUBJECT_HELP
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table
    from torch import Tensor

    from zerosnet.cli.named_network import NamedNetwork
    from zerosnet.data import DataSet
    from zerosnet.models import DepthMeasures, Diagnosis

_WIDTH_OF_PLAIN_OUTPUT = 160
_RANDOM = "random"
_LEGEND_OF_SHARES = "ratio: the measured share, rms beta f / rms y; predicted: from the coefficients, at initialisation"
_LEGEND = "forward, backward: growth of a disturbance, a gradient; alone: bound without f"
_LEGEND_OF_DEPTH = (
    "accuracies in %: one off, f off in this block alone; f off, from this block on; norms new, the same with batch "
    "norm re-estimated; lens, the head on this state\n"
    "cosine: of beta f and what it is added to; influence: 1 - cosine of two states; same: of the lens's predictions, "
    "% that are the network's"
)
_LEGEND_OF_ACCURACY = "f off: accuracy in % with f switched off from this block on"


@app.command(short_help="Show what every block adds, and how disturbances grow.")
def diagnose(
    model: Annotated[str, typer.Argument(help=SUBJECT_HELP)],
    scheme: str | None = typer.Option(None, help='The scheme of a bare zerosnetN, such as "zerosnet(-1/5)".'),
    dataset: str = typer.Option(_RANDOM, help="random (noise, no labels), digits, cifar10, ..."),
    data: str | None = typer.Option(None, help="The folder that holds the data set; digits needs none."),
    images: int = typer.Option(32, min=2, max=100_000, help="How many (test) images."),
    statistics: str | None = typer.Option(
        None, help="running or batch: whose mean and variance batch norms use (batch for untrained networks)."
    ),
    depth: bool = typer.Option(
        False, "--depth", help="Also measure how much of the depth is used, by five measures; needs a data set."
    ),
    seed: int = typer.Option(0, help="Of weights, noise and disturbance."),
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
    plot: str | None = typer.Option(None, help="Draw it into this file (png, svg or pdf)."),
) -> None:
    """Show for every block what it adds to the state, and how disturbances grow forwards and gradients backwards.

    A network whose scheme is not zero-stable is shallow in effect: its state grows until f adds nothing to it.
    With labels (any data set but random) also the accuracy with f switched off from each block on.
    """
    import sys

    from zerosnet import data as datasets
    from zerosnet.cli.named_network import find_subject
    from zerosnet.models import diagnose as measure
    from zerosnet.models import measure_depth
    from zerosnet.report import diagnosis_figure, figure_file, save_figure

    if not 0 <= seed < 2**63:
        raise InputError(f"--seed is {seed}; expected a whole number from 0 on, below 2^63")
    if depth and dataset == _RANDOM:
        raise InputError("--depth needs images with labels; expected --dataset digits, or another one with --data DIR")
    target = None if plot is None else figure_file(plot)
    source = None if dataset == _RANDOM else datasets.load(dataset, data)
    shape = {} if source is None else {"num_classes": source.num_classes, "in_chans": source.in_chans}
    subject = find_subject(model, scheme, store, seed=seed, **shape)
    batch, labels = _batch(subject, source, images, seed)
    found = measure(subject.network, batch, labels, statistics=statistics, seed=seed)
    measures = None
    if depth and labels is not None:
        measures = measure_depth(subject.network, batch, labels, statistics=statistics)
    if target is not None:
        save_figure(diagnosis_figure(found), target)
    if json:
        import json as encoder

        extra = {} if measures is None else {"depth": measures.to_json()}
        print(encoder.dumps(found.to_json() | extra, indent=2))
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_PLAIN_OUTPUT, highlight=False)
    console.print(_headline(found), markup=False)
    console.print(_table(found))
    console.print(_LEGEND_OF_SHARES)
    console.print(_LEGEND)
    if found.accuracy is not None:
        console.print(_LEGEND_OF_ACCURACY)
    if measures is not None:
        console.print(_table_of_depth(measures))
        console.print(_LEGEND_OF_DEPTH)


def _batch(subject: "NamedNetwork", source: "DataSet | None", count: int, seed: int) -> "tuple[Tensor, Tensor | None]":
    """Make a batch in the scale that the network was trained with, or the usual one, with labels if there are any."""
    import torch

    if source is None:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(count, subject.network.in_chans, *subject.size, generator=generator), None
    from zerosnet.data import gather

    if source.in_chans != subject.network.in_chans:
        raise InputError(
            f"--dataset is {source.name!r}, images of {source.in_chans} channels; {subject.label} takes "
            f"{subject.network.in_chans}"
        )
    index = torch.arange(min(count, len(source.test)))
    known = subject.facts.get("input") or {"mean": source.mean, "std": source.std}
    scale = (torch.tensor(known[name]) for name in ("mean", "std"))
    batch = gather(source.test.images, index[None], None, None, None, *scale)
    return batch, source.test.labels[index]


def _headline(found: "Diagnosis") -> str:
    total = len(found.blocks)
    depth = found.effective_depth
    predicted = "" if depth.predicted is None else f"{depth.predicted:.1f} predicted, "
    scheme = "" if found.scheme is None else f"{found.scheme}, "
    accuracy = "" if found.accuracy is None else f"; accuracy {100 * found.accuracy:.1f} %"
    return (
        f"{found.model}: effective depth {predicted}{depth.measured:.1f} measured, of {total} blocks\n"
        f"{scheme}{found.verdict}; {found.blocks_above()} of {total} blocks above 1 % ({found.images} images, "
        f"{found.statistics} statistics){accuracy}"
    )


def _table(found: "Diagnosis") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    columns = ["block", "stage", "rms y", "rms beta f", "ratio", "predicted", "forward", "alone", "backward", "alone"]
    for name in [*columns, *(["f off"] if found.accuracy is not None else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    for block in found.blocks:
        sizes = (block.state_rms, block.residual_rms, block.ratio)
        growths = (block.forward_growth, block.forward_envelope, block.backward_growth, block.backward_envelope)
        predicted = "-" if block.predicted_share is None else f"{block.predicted_share:.3g}"
        cells = [*(f"{number:.3g}" for number in sizes), predicted, *(f"{number:.3g}" for number in growths)]
        if block.accuracy_without is not None:
            cells.append(f"{100 * block.accuracy_without:.1f}")
        table.add_row(str(block.index), str(block.stage + 1), *cells)
    return table


def _table_of_depth(measures: "DepthMeasures") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("block", "stage", "one off", "f off", "norms new", "lens", "same", "cosine", "influence"):
        table.add_column(name, justify="right", no_wrap=True)
    for block in measures.blocks:
        off = (block.accuracy_deleted, block.accuracy_without, block.accuracy_without_reestimated)
        fractions = (*off, block.lens_accuracy, block.lens_agreement)
        cells = ["-" if number is None else f"{100 * number:.1f}" for number in fractions]
        table.add_row(str(block.index), str(block.stage + 1), *cells, f"{block.cosine:.3f}", f"{block.influence:.3g}")
    whole = (measures.accuracy, measures.accuracy, measures.accuracy_reestimated)
    table.add_row("none", "", *(f"{100 * number:.1f}" for number in whole), "", "", "", "")
    return table

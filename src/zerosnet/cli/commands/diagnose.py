"""`zerosnet diagnose`: what every block of a network does."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app
from zerosnet.cli.named_network import SUBJECT_HELP
from zerosnet.cli.options import announce
from zerosnet.cli.other_network import OTHER_HELP, is_other
from zerosnet.errors import ExampleError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table
    from torch import Tensor, nn

    from zerosnet.cli.named_network import NamedNetwork
    from zerosnet.data import DataSet
    from zerosnet.models import DepthMeasures, Diagnosis

_RANDOM = "random"
_IMAGES_OF_NOISE, _IMAGES_OF_DATA, _EXAMPLES_OF_OTHERS = 32, 256, 4
_CHANCE = 1.5  # times the accuracy of a guess
_LEGEND_OF_SHARES = "share: rms beta f / rms y; predicted: from the coefficients, at initialisation"
_LEGEND = "forward, backward: growth of a disturbance, a gradient; alone: bound without f"
_LEGEND_OF_DEPTH = (
    "accuracies in %: one off, f off in this block alone; f off, from this block on;\n"
    "norms new, the same with batch norm re-estimated; lens, the head on this state;\n"
    "same: of the lens's predictions, % that are the network's\n"
    "cosine: of beta f and what it is added to; influence: 1 - cosine of two states"
)
_LEGEND_OF_ACCURACY = "f off: accuracy in % with f switched off from this block on"
_DEPTH_NEEDS_LABELS = "--depth needs images with labels; expected --dataset digits, or another one with --data DIR"


@app.command(short_help="Show what every block adds, and how disturbances grow.")
def diagnose(
    model: Annotated[str, typer.Argument(help=f"{SUBJECT_HELP} Or any residual network: {OTHER_HELP}.")],
    scheme: str | None = typer.Option(None, help='The scheme of a bare zerosnetN, such as "zerosnet(-1/5)".'),
    dataset: str | None = typer.Option(
        None, help="digits, cifar10, ..., or random (noise, no labels); by default a run's own, or random."
    ),
    data: str | None = typer.Option(None, help="The folder that holds the data set; digits needs none."),
    images: int | None = typer.Option(
        None,
        max=100_000,
        help=f"Number of test images, 2 or more; by default {_IMAGES_OF_DATA}; of noise {_IMAGES_OF_NOISE}, or "
        f"{_EXAMPLES_OF_OTHERS} for networks of other packages and your own, if these bring no example.",
    ),
    statistics: str | None = typer.Option(
        None, help="Mean and variance that batch norms use: running or batch; by default batch if untrained."
    ),
    depth: bool = typer.Option(
        False, "--depth", help="Also measure how much of the depth is used, by five measures; needs a data set."
    ),
    seed: int = typer.Option(0, help="Seed of weights, noise and disturbance."),
    block: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A module of another network that is a residual block; once per block."),
    ] = None,
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
) -> None:
    """Show for every block what it adds to the state, and how disturbances grow forwards and gradients backwards.

    A network whose state grows faster than what its blocks add is shallow in effect. With labels (any data set but
    random) the used depth is printed first: the number of first blocks that keep the network's accuracy if all later
    ones are switched off.
    """
    if not 0 <= seed < 2**63:
        raise InputError(f"--seed is {seed}; expected a whole number from 0 on, below 2^63")
    if images is not None and images < 2:
        raise InputError(f"--images is {images}; expected 2 or more")
    if depth and dataset == _RANDOM:
        raise InputError(_DEPTH_NEEDS_LABELS)
    target = output.checked_plot(plot)
    announce(f"diagnosing {model} ...")
    if is_other(model):
        unused: dict[str, object] = {"--scheme": scheme, "--dataset": dataset, "--data": data, "--depth": depth or None}
        _refuse_for_others(model, unused)
        _diagnose_other(model, images, block, statistics, seed, json=json, target=target)
        return
    if block:
        raise InputError(
            f"--block is given for {model}, whose blocks are known; expected a network from outside zerosnet"
        )
    from zerosnet.cli.named_network import find_subject, runs_of
    from zerosnet.models import diagnose as measure
    from zerosnet.models import has_streams, measure_depth
    from zerosnet.report import diagnosis_figure, save_figure

    source = None if dataset is None else _load(dataset, data)
    shape = {} if source is None else {"num_classes": source.num_classes, "in_chans": source.in_chans}
    subject = find_subject(model, scheme, store, others=True, seed=seed, **shape)
    if dataset is None:
        source = _own_data(subject, data)
        if depth and source is None:
            raise InputError(_DEPTH_NEEDS_LABELS)
    count = images or (_IMAGES_OF_NOISE if source is None else _IMAGES_OF_DATA)
    batch, labels = _batch(subject, source, count, seed)
    if not subject.is_trained and (trained := runs_of(model, scheme, store)):
        print(f"zerosnet: store {store} has {len(trained)} trained {model}; try {trained[0].id}", file=sys.stderr)
    if has_streams(subject.network):
        if depth:
            raise InputError(f"--depth is given for {subject.label}, a network of several streams; leave it out")
        origin = f"of {source.name if source is not None else 'noise'}"
        _show_wiring(subject.network, batch, subject.label, origin, None, statistics, seed, json=json, target=target)
        return
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
    console = output.console()
    named = subject.is_run or not subject.is_trained
    console.print(_headline(found, subject.label if named else found.model, source))
    output.print_at_full_width(_table(found))
    console.print(_LEGEND_OF_SHARES)
    console.print(_LEGEND)
    if found.accuracy is not None:
        console.print(_LEGEND_OF_ACCURACY)
    if measures is not None:
        console.print()
        output.print_at_full_width(_table_of_depth(measures))
        console.print(_LEGEND_OF_DEPTH)


def _refuse_for_others(model: str, options: dict[str, object]) -> None:
    given = next((name for name, value in options.items() if value is not None), None)
    if given is not None:
        raise InputError(f"{given} is given for {model}, a network from outside zerosnet; leave it out")


def _diagnose_other(
    name: str,
    images: int | None,
    blocks: list[str] | None,
    statistics: str | None,
    seed: int,
    *,
    json: bool,
    target: "Path | None",
) -> None:
    """Diagnose a network of another package, on noise or on an example of its own."""
    from zerosnet.cli.other_network import find_other

    subject = find_other(name, seed)
    if images is not None and subject.example is not None:
        raise InputError(f"--images is {images}, but {name} brings an example of its own; leave --images out")
    source = "of noise" if subject.example is None else "of its own"
    batch = subject.batch(images or _EXAMPLES_OF_OTHERS, seed)
    try:
        _show_wiring(subject.model, batch, subject.label, source, blocks, statistics, seed, json=json, target=target)
    except ExampleError as error:
        if subject.example is not None:
            raise
        raise InputError(
            f"{error.model} fails on noise {error.example}, which was guessed ({error.reason}); expected "
            "package.module:function, a function that returns (network, example)"
        ) from error


def _show_wiring(
    network: "nn.Module",
    batch: object,
    label: str,
    source: str,
    blocks: list[str] | None,
    statistics: str | None,
    seed: int,
    *,
    json: bool,
    target: "Path | None",
) -> None:
    """Measure the wiring of a network and what its blocks do, and print or draw it."""
    from zerosnet.cli import wiring_table
    from zerosnet.models import diagnose_network
    from zerosnet.report import save_figure, wiring_figure

    found = diagnose_network(network, cast(Any, batch), blocks=blocks or None, statistics=statistics, seed=seed)
    if target is not None:
        save_figure(wiring_figure(found), target)
    if json:
        output.print_json(found.to_json())
        return
    console = output.console()
    console.print(found.headline(label, source))
    wiring_table.print_table(found, console)


def _load(dataset: str, data: str | None) -> "DataSet | None":
    """Load a data set with its test images; None for noise."""
    from zerosnet.data import load_for_test

    return None if dataset == _RANDOM else load_for_test(dataset, data)


def _own_data(subject: "NamedNetwork", data: str | None) -> "DataSet | None":
    """Load the data that a network was trained on; None if it is no run's and there is no folder to look in."""
    dataset = subject.facts.get("dataset")
    if dataset is None or (not subject.is_run and data is None):
        return None
    try:
        return _load(dataset, data)
    except InputError as error:
        raise InputError(f"{error}; --dataset random measures without it") from None


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


def _headline(found: "Diagnosis", name: str, source: "DataSet | None") -> str:
    """Describe the whole network: the used depth first, if there are labels to measure it by."""
    total = len(found.blocks)
    effective = found.effective_depth_text()
    lines = [f"{name}: {effective}"]
    if found.accuracy is not None and found.used_depth is not None:
        rest = "" if found.used_depth == total else "; within a point of it with f off in all later blocks"
        if source is not None and found.accuracy < _CHANCE / source.num_classes:
            rest = ": hardly more than chance, so that the used depth tells nothing"
        lines = [
            f"{name}: used depth {found.used_depth} of {total} blocks",
            f"accuracy {100 * found.accuracy:.1f} %{rest}",
            effective,
        ]
    scheme = "" if found.scheme is None else f"{found.scheme.name}, "
    images = "noise" if source is None else f"{source.name}"
    return "\n".join(
        [*lines, f"{scheme}{found.verdict}", f"on {found.images} images of {images}, {found.statistics} statistics"]
    )


def _table(found: "Diagnosis") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    columns = found.columns()
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for cells in zip(*(cells for _, cells in columns)):
        table.add_row(*cells)
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

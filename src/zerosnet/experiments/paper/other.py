"""The paper's remaining tables: ImageNet, generalisation gap, parameters, run time, and the coefficients themselves."""

import json
from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from typing import Any

from zerosnet.experiments.definition import Cell, Column, Experiment, Folder, TableRow
from zerosnet.experiments.paper.declare import MODULI, labelled, paper_row, zerosnet
from zerosnet.experiments.paper.printed import parse_printed, printed_table
from zerosnet.experiments.readings import ACCURACY, GAP, TOP5, TRAINING_ACCURACY
from zerosnet.experiments.scales import TrainingPlan
from zerosnet.models import create_model, parameter_count
from zerosnet.numerics import PAPER_ROWS, Scheme, root_condition

_TIMER = "python -m benchmarks models"
_OTHER_HARDWARE = "seconds of other hardware: only the ratio of the two networks can be compared"


def imagenet() -> Experiment:
    name, heads = "table-imagenet", ("Model", "# Layer")
    models = {"PreResNet": "preresnet{}", "ZeroSNet-Opt": "zerosnet{}_opt"}
    readings = {"Top-1 (%)": ACCURACY, "Top-5 (%)": TOP5}
    rows, all_cells = [], []
    for record in printed_table(name).records():
        row = labelled(record, heads, group=f"{record['# Layer']} layers")
        rows.append(row)
        model = models[record["Model"]].format(record["# Layer"])
        training = TrainingPlan(model, "imagefolder", "imagenet", demo=False)
        all_cells += [
            Cell(row.key, head, parse_printed(record[head]), training, reading) for head, reading in readings.items()
        ]
    return Experiment(
        name=name,
        title="ImageNet, 18, 34 and 50 layers",
        reference="Table 5 (CompI)",
        what="top-1 and top-5 accuracy on the validation set, one crop, %",
        heads=heads,
        columns=(Column("Top-1 (%)", "top-1, %"), Column("Top-5 (%)", "top-5, %")),
        rows=tuple(rows),
        cells=tuple(all_cells),
        notes=(
            "batch sizes 128, 64, 32 are by all signs those of one of eight GPUs: 1024, 512, 256 in total, with "
            "learning rates 0.2, 0.1, 0.05",
            "a single run each, without deviations",
        ),
        seeds=(1,),
        folder=Folder("ImageNet", classes=1000),
    )


def generalisation_gap() -> Experiment:
    name, heads = "table-generalisation-gap", ("Model", MODULI)
    readings = {"Training": TRAINING_ACCURACY, "Test": ACCURACY, "Gap": GAP}
    rows, all_cells = [], []
    for record in printed_table(name).records():
        layers, paper = int(record["Model"].removeprefix("ZeroSNet")), paper_row(record[MODULI])
        row = labelled(record, heads, zero_stable=True, group=f"{layers} layers")
        rows.append(row)
        base = zerosnet(layers, paper, "cifar100", demo=layers == 56)
        training = TrainingPlan(base.model, base.dataset, base.recipe, base.scheme, (("epochs", 500),), base.demo)
        for head, reading in readings.items():
            all_cells.append(Cell(row.key, head, parse_printed(record[head]), training, reading))
    return Experiment(
        name=name,
        title="Generalisation gap after 500 epochs, 44 to 326 layers",
        reference="Table 7 (GeneralizationC100)",
        what="accuracy on the training and the test set of CIFAR-100, and their difference, %",
        heads=heads,
        columns=(Column("Training", "training, %"), Column("Test", "test, %"), Column("Gap", "gap, %")),
        rows=tuple(rows),
        cells=tuple(all_cells),
        notes=(
            "ours: training accuracy without augmentation in eval mode; the authors' code takes the running mean on "
            "augmented images",
            "single numbers without deviations; 164 and 326 layers are bottleneck networks",
        ),
    )


def parameters() -> Experiment:
    name, heads = "table-parameters", ("# Layers",)
    models = {"LMResNet": "lmresnet{}", "PreResNet": "preresnet{}", "ZeroSNet": "zerosnet{}_opt"}
    own = Column("ZeroSNet, 100 classes", "ZeroSNet, 100 classes", ours=True)
    rows, all_cells = [], []
    for record in printed_table(name).records():
        row = labelled(record, heads)
        rows.append(row)
        for head, model in models.items():
            count = partial(_millions, model.format(row.key), 10)
            all_cells.append(Cell(row.key, head, parse_printed(record[head]), compute=count))
        all_cells.append(Cell(row.key, own.key, compute=partial(_millions, models["ZeroSNet"].format(row.key), 100)))
    return Experiment(
        name=name,
        title="Parameters, 20 to 110 layers",
        reference="Table 8 (Parameters)",
        what="parameters in millions, 10 classes",
        heads=heads,
        columns=(*(Column(head, head) for head in models), own),
        rows=tuple(rows),
        cells=tuple(all_cells),
        compared="counted in the networks themselves",
        notes=(
            "the printed ZeroSNet column fits 100 classes, the LM-ResNet column 10 classes with one projection a stage "
            "change, where 110 layers would be 1.73M and not 1.14M",
        ),
    )


@cache
def _millions(model: str, classes: int) -> float:
    return parameter_count(create_model(model, num_classes=classes, seed=0)) / 1e6


def run_time() -> Experiment:
    name, heads, parts = "table-run-time", ("Model",), ("training", "test")
    table = printed_table(name)
    sizes = {head: int(head.removeprefix("BS=")) for head in table.heads[1:]}
    rows, all_cells = [], []
    for record in table.records():
        rows.append(row := labelled(record, heads, note="seconds"))
        all_cells += [Cell(row.key, head, parse_printed(record[head]), note=_OTHER_HARDWARE) for head in sizes]
    seconds = {(cell.row, cell.column): cell.printed.value for cell in all_cells if cell.printed is not None}
    for part in parts:
        rows.append(
            row := TableRow(part, (f"ZeroSNet20 / PreResNet20 ({part}), ours on one {_run_times()['gpu']}",), ours=True)
        )
        for head, batch in sizes.items():
            printed = seconds[f"ZeroSNet20 ({part})", head] / seconds[f"PreResNet20 ({part})", head]
            timed = partial(_ratio, part, batch)
            all_cells.append(Cell(row.key, head, parse_printed(f"{printed:.2f}"), compute=timed))
    return Experiment(
        name=name,
        title="Run time of PreResNet-20 and ZeroSNet-20",
        reference="Table 9 (time)",
        what="the paper's seconds on CIFAR-10, and the ratio of the two networks' times",
        heads=heads,
        columns=tuple(Column(head, f"batch {batch}") for head, batch in sizes.items()),
        rows=tuple(rows),
        cells=tuple(all_cells),
        compared="the ratio, ours of the times of single compiled steps, measured in turns",
        notes=(
            "the paper does not say how many epochs its seconds are of; its ratios are computed from them",
            f"`{_TIMER}` times both networks on a GPU of your own; seconds of training runs are not shown here, since "
            "they count whatever else the GPU did meanwhile",
        ),
        command=_TIMER,
    )


@cache
def _run_times() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("run_times.json").read_text(encoding="utf-8")
    stored: dict[str, Any] = json.loads(text)
    return stored


def _ratio(mode: str, batch: int) -> float:
    """ZeroSNet's time for a step over PreResNet's."""
    return next(row["ratio"] for row in _run_times()["rows"] if (row["mode"], row["batch"]) == (mode, batch))


def coefficients() -> Experiment:
    name, heads = "table-coefficients", ("alpha_0", "alpha_1", "alpha_2", "beta_0", "Z. S.")
    table = printed_table(name)
    moduli = table.heads[4:7]
    rows, all_cells = [], []
    for record, paper in zip(table.records(), PAPER_ROWS):
        note = f"lambda = {paper.lam}" if paper.lam is not None else "not consistent"
        row = labelled(
            record, heads, key=paper.label, scheme=paper.scheme, zero_stable=paper.printed_zero_stable, note=note
        )
        rows.append(row)
        printed = [parse_printed(record[head]) for head in moduli]
        order = sorted(range(3), key=lambda i: printed[i].value)  # type: ignore[union-attr]
        for rank, place in enumerate(order):
            compute: Callable[[], float] = partial(_modulus, paper.scheme, rank)
            all_cells.append(Cell(row.key, moduli[place], printed[place], compute=compute))
    return Experiment(
        name=name,
        title="From coefficients to roots",
        reference="Table 10 (Mapping)",
        what="moduli of the roots of the characteristic polynomial",
        heads=heads,
        columns=tuple(Column(head, head.replace("Module of the", "modulus,")) for head in moduli),
        rows=tuple(rows),
        cells=tuple(all_cells),
        compared="computed from the exact coefficients",
        notes=("the paper prints four digits; 1/3, 5/9, 1/9 and 16/9 are meant by the last row",),
    )


def _modulus(scheme: Scheme, rank: int) -> float:
    """The modulus of this rank, the smallest first."""
    return sorted(root_condition(scheme).moduli)[rank]

"""The paper's remaining tables: ImageNet, generalisation gap, parameters, run time, and the coefficients themselves."""

import json
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from typing import Any

from zerosnet.experiments.definition import Cell, Column, Experiment, Folder, TableRow
from zerosnet.experiments.paper.declare import MODULI, cells, labelled, paper_row, table, zerosnet
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
    measures = ((Column("Top-1 (%)", "top-1, %"), ACCURACY), (Column("Top-5 (%)", "top-5, %"), TOP5))
    lines = []
    for record in printed_table(name).records():
        row = labelled(record, heads, group=f"{record['# Layer']} layers")
        model = models[record["Model"]].format(record["# Layer"])
        training = TrainingPlan(model, "imagefolder", "imagenet", demo=False)
        lines.append((row, cells(row, record, training, measures)))
    return Experiment(
        name=name,
        title="ImageNet, 18, 34 and 50 layers",
        reference="Table 5 (CompI)",
        what="top-1 and top-5 accuracy on the validation set, one crop, %",
        **table(heads, measures, lines),
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
    measures = [(Column(head, f"{head.lower()}, %"), reading) for head, reading in readings.items()]
    lines = []
    for record in printed_table(name).records():
        layers, paper = int(record["Model"].removeprefix("ZeroSNet")), paper_row(record[MODULI])
        row = labelled(record, heads, zero_stable=True, group=f"{layers} layers")
        training = replace(zerosnet(layers, paper, "cifar100", demo=layers == 56), options=(("epochs", 500),))
        lines.append((row, cells(row, record, training, measures)))
    return Experiment(
        name=name,
        title="Generalisation gap after 500 epochs, 44 to 326 layers",
        reference="Table 7 (GeneralizationC100)",
        what="accuracy on the training and the test set of CIFAR-100, and their difference, %",
        **table(heads, measures, lines),
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
    lines = []
    for record in printed_table(name).records():
        row = labelled(record, heads)
        counts = {head: partial(_millions, model.format(row.key), 10) for head, model in models.items()}
        counted = [Cell(row.key, head, parse_printed(record[head]), compute=count) for head, count in counts.items()]
        hundred = partial(_millions, models["ZeroSNet"].format(row.key), 100)
        lines.append((row, [*counted, Cell(row.key, own.key, compute=hundred)]))
    return Experiment(
        name=name,
        title="Parameters, 20 to 110 layers",
        reference="Table 8 (Parameters)",
        what="parameters in millions, 10 classes",
        **table(heads, (*(Column(head, head) for head in models), own), lines),
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
    printed = printed_table(name)
    sizes = {head: int(head.removeprefix("BS=")) for head in printed.heads[1:]}
    lines = []
    for record in printed.records():
        row = labelled(record, heads, note="seconds")
        quoted = [Cell(row.key, head, parse_printed(record[head]), note=_OTHER_HARDWARE) for head in sizes]
        lines.append((row, quoted))
    seconds = {(one.row, one.column): one.printed.value for _, each in lines for one in each if one.printed is not None}
    for part in parts:
        row = TableRow(part, (f"ZeroSNet20 / PreResNet20 ({part}), ours on one {_run_times()['gpu']}",), ours=True)
        ours = []
        for head, batch in sizes.items():
            ratio = seconds[f"ZeroSNet20 ({part})", head] / seconds[f"PreResNet20 ({part})", head]
            ours.append(Cell(row.key, head, parse_printed(f"{ratio:.2f}"), compute=partial(_ratio, part, batch)))
        lines.append((row, ours))
    return Experiment(
        name=name,
        title="Run time of PreResNet-20 and ZeroSNet-20",
        reference="Table 9 (time)",
        what="the paper's seconds on CIFAR-10, and the ratio of the two networks' times",
        **table(heads, [Column(head, f"batch {batch}") for head, batch in sizes.items()], lines),
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
    moduli, lines = printed_table(name).heads[4:7], []
    for record, paper in zip(printed_table(name).records(), PAPER_ROWS):
        note = f"lambda = {paper.lam}" if paper.lam is not None else "not consistent"
        row = labelled(
            record, heads, key=paper.label, scheme=paper.scheme, zero_stable=paper.printed_zero_stable, note=note
        )
        printed = [parse_printed(record[head]) for head in moduli]
        order = sorted(range(3), key=lambda i: printed[i].value)  # type: ignore[union-attr]
        ranked = [(place, partial(_modulus, paper.scheme, rank)) for rank, place in enumerate(order)]
        lines.append((row, [Cell(row.key, moduli[place], printed[place], compute=find) for place, find in ranked]))
    return Experiment(
        name=name,
        title="From coefficients to roots",
        reference="Table 10 (Mapping)",
        what="moduli of the roots of the characteristic polynomial",
        **table(heads, [Column(head, head.replace("Module of the", "modulus,")) for head in moduli], lines),
        compared="computed from the exact coefficients",
        notes=("the paper prints four digits; 1/3, 5/9, 1/9 and 16/9 are meant by the last row",),
    )


def _modulus(scheme: Scheme, rank: int) -> float:
    """The modulus of this rank, the smallest first."""
    return sorted(root_condition(scheme).moduli)[rank]

"""Write the numbers that come with the package, from the records of finished runs and from the benchmarks.

    python -m tools.package_numbers results/runs benchmarks/results

experiments/recorded.json          what was measured of every experiment at full scale
experiments/training_rates.json    seconds per epoch and network, for the cost of experiments
experiments/paper/run_times.json   steps that a benchmark timed in turns on a GPU, for the table of run times
experiments/registered.json        accuracies that were predicted before training, by run
explorer/accuracies.json           test accuracies, measured and printed, for the explorer's chart
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import zerosnet
from zerosnet.errors import InputError
from zerosnet.experiments import EXPERIMENTS, Evidence, collect, read_evidence, read_folder
from zerosnet.experiments.costs import FUSED
from zerosnet.files import read_json, write_bytes
from zerosnet.training import Result, Store, recipe

PACKAGE = Path(zerosnet.__file__).parent
RECORDED = PACKAGE / "experiments" / "recorded.json"
REGISTERED = PACKAGE / "experiments" / "registered.json"
RATES = PACKAGE / "experiments" / "training_rates.json"
RUN_TIMES = PACKAGE / "experiments" / "paper" / "run_times.json"
ACCURACIES = PACKAGE / "explorer" / "accuracies.json"

_TIMED_DEPTH = 20  # of the networks that the paper timed
_TIMED = ("mode", "batch", "preresnet_ms", "zerosnet_ms", "ratio")
_BASIC = 110  # layers of the deepest network of basic blocks
_DEPTH = 56  # layers of the networks whose groups were timed in several sizes
_PRINTED_IN = ("table-preresnet-alpha", "table-lmresnet-k", "table-zerosnet-cifar10")
_DATASET = "cifar10"


def recorded_tables(evidence: Evidence) -> list[dict[str, Any]]:
    """List the values of every cell at full scale that some run gave."""
    found = []
    for experiment in EXPERIMENTS.values():
        cells = [
            {"row": cell.row, "column": cell.column, "values": [value.to_json() for value in cell.values]}
            for cell in collect(experiment, evidence, "full").cells
            if any(value.run is not None for value in cell.values)
        ]
        if cells:
            found.append({"experiment": experiment.name, "cells": cells})
    return found


def registered(store: Path) -> dict[str, Any]:
    """List the predictions in the folder beside a store, by run."""
    return {run: one.to_json() for run, one in sorted(read_folder(store.parent / "predictions", store).items())}


def run_times(benchmark: dict[str, Any]) -> dict[str, Any]:
    """Name the GPU, and list a row for every mode and batch size that a benchmark timed."""
    (gpu,) = benchmark["environment"]["gpu"]["names"]
    rows = [{key: row[key] for key in _TIMED} for row in benchmark["rows"] if row["depth"] == _TIMED_DEPTH]
    return {"gpu": gpu, "rows": rows}


def training_rates(*on_gpu: dict[str, Any], on_cpu: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Collect seconds per epoch and network: ten networks as one on a GPU by engine and layers, and digits on a CPU.

    The first of several records that has an engine's rate counts. Rates of bottleneck networks and of other data come
    from `others`. `epoch_of_group` has the seconds per epoch of whole groups of _DEPTH layers, by engine and size.
    """
    (gpu,) = on_gpu[0]["environment"]["gpu"]["names"]
    rates: dict[str, dict[str, float]] = {"native": {}, "torch": {}}
    groups: dict[str, dict[str, float]] = {"native": {}, "torch": {}}
    for row in (row for record in on_gpu for row in record["rows"]):
        if row["replicas"] == FUSED:
            rates[row["kernels"]].setdefault(str(row["layers"]), row["seconds_per_epoch_and_network"])
        if row["layers"] == _DEPTH:
            groups[row["kernels"]].setdefault(str(row["replicas"]), row["seconds_per_epoch"])
    for row in others["rows"]:
        kind = "torch" if row["dataset"] == _DATASET else row["dataset"]
        if kind != "torch" or row["layers"] > _BASIC:
            rates.setdefault(kind, {})[str(row["layers"])] = row["seconds_per_epoch_and_network"]
    epochs = on_cpu["networks"] * recipe("quick", "digits").epochs
    return {"gpu": gpu, **rates, "epoch_of_group": groups, "digits_on_two_cores": {"20": on_cpu["seconds"] / epochs}}


def rates_of(results: Path) -> dict[str, Any]:
    """Collect the rates of the records in a folder."""
    native, plain, on_cpu, others = (
        read_json(results / f"{name}.json")
        for name in ("training-cuda", "training-cuda-torch", "training-cpu", "others-cuda")
    )
    return training_rates(native, plain, on_cpu=on_cpu, others=others)


def accuracies(evidence: Evidence) -> dict[str, Any]:
    """List measured accuracies on CIFAR-10, and apart from them the printed ones."""
    return {"dataset": _DATASET, "measured": _measured(evidence), "printed": _printed()}


def _measured(evidence: Evidence) -> list[dict[str, Any]]:
    """List best and last test epochs of runs by the paper's recipe, which reports the best; one entry per scheme.

    Runs with a precision of their own compare engines and are left out. So are networks with another wiring than the
    usual one of their scheme, and changed recipes: the chart is by scheme.
    """
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for run in evidence.runs:
        spec, result = run.record.spec, run.record.result
        asked = (spec.dataset, spec.recipe.name, spec.precision) == (_DATASET, "paper", None) and not spec.rewired
        if asked and not spec.changes and run.scheme is not None and result is not None and result.status == "finished":
            groups[spec.model, str(run.scheme), spec.recipe.name].append(result)
    return [
        {
            "model": model,
            "scheme": scheme,
            "recipe": recipe,
            "runs": len(results),
            **_summary("accuracy", "deviation", [result.best_test_accuracy for result in results]),
            **_summary("last_accuracy", "last_deviation", [result.test_accuracy for result in results]),
        }
        for (model, scheme, recipe), results in sorted(groups.items())
    ]


def _summary(name: str, deviation: str, fractions: Sequence[float | None]) -> dict[str, float | None]:
    values = [100 * fraction for fraction in fractions if fraction is not None]
    spread = round(stdev(values), 3) if len(values) > 1 else None
    return {name: round(mean(values), 3), deviation: spread}


def _printed() -> list[dict[str, Any]]:
    entries = []
    for name in _PRINTED_IN:
        table = EXPERIMENTS[name]
        for cell in table.cells:
            row = table.row(cell.row)
            if cell.printed is None or cell.training is None or row.scheme is None:
                continue
            entries.append(
                {
                    "model": cell.training.model.removesuffix("_opt"),
                    "scheme": str(row.scheme),
                    "accuracy": cell.printed.value,
                    "deviation": cell.printed.deviation,
                    "table": table.reference,
                }
            )
    return entries


def _write(path: Path, data: Any) -> None:
    write_bytes(path, (json.dumps(data, indent=1, ensure_ascii=path != ACCURACIES) + "\n").encode())
    print(path)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m tools.package_numbers STORE BENCHMARKS", file=sys.stderr)
        return 2
    try:
        evidence = read_evidence(Store(arguments[0]))
        if evidence.problems:
            raise InputError(evidence.problems[0])
        results = Path(arguments[1])
        _write(RUN_TIMES, run_times(read_json(results / "models-cuda.json")))
        _write(RATES, rates_of(results))
        _write(RECORDED, recorded_tables(evidence))
        _write(REGISTERED, registered(Path(arguments[0])))
        _write(ACCURACIES, accuracies(evidence))
    except (InputError, OSError) as error:
        print(f"package_numbers: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

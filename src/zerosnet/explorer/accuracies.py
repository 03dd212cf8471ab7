"""Test accuracies over the largest parasitic modulus: measured ones, and beside them what the paper printed.

The page reads them from accuracies.json, which comes with the package. After new runs it is made again:

    python -m zerosnet.explorer.accuracies results/runs
"""

import json
import sys
from collections import defaultdict
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, root_condition

if TYPE_CHECKING:
    from zerosnet.training import RunSpec

FILE = "accuracies.json"
_PRINTED_IN = ("table-preresnet-alpha", "table-lmresnet-k", "table-zerosnet-cifar10")
_DATASET = "cifar10"


@cache
def accuracies_document() -> dict[str, Any]:
    """The stored accuracies in per cent, every entry with the largest parasitic modulus of its scheme."""
    stored = json.loads(resources.files("zerosnet.explorer").joinpath(FILE).read_text(encoding="utf-8"))
    for entry in (*stored["measured"], *stored["printed"]):
        verdict = root_condition(Scheme.parse(entry["scheme"]))
        entry["parasitic_modulus"] = 1 - verdict.margin
        entry["zero_stable"] = verdict.zero_stable
    return stored


def collect_accuracies(runs: Path) -> dict[str, Any]:
    """What accuracies.json holds: the finished runs below a folder, and the printed tables."""
    return {"dataset": _DATASET, "measured": _measured(runs), "printed": _printed()}


def _measured(runs: Path) -> list[dict[str, Any]]:
    """Best test epochs, which is what the paper reports, and last ones, by its recipe; all seeds are one entry.

    Runs with a precision of their own are comparisons of engines, and left out.
    """
    from zerosnet.training import Store

    groups: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for record in Store(runs).records():
        scheme = _scheme_of(record.spec)
        spec = record.spec
        asked = (spec.dataset, spec.recipe.name, spec.precision) == (_DATASET, "paper", None)
        if record.status == "finished" and asked and scheme is not None:
            groups[record.spec.model, str(scheme), record.spec.recipe.name].append(record.result)
    return [
        {
            "model": model,
            "scheme": scheme,
            "recipe": recipe,
            "runs": len(results),
            **_summary("accuracy", [100 * result.best_test_accuracy for result in results]),
            **_summary("last_accuracy", [100 * result.test_accuracy for result in results]),
        }
        for (model, scheme, recipe), results in sorted(groups.items())
    ]


def _summary(name: str, values: list[float]) -> dict[str, float | None]:
    spread = stdev(values) if len(values) > 1 else None
    deviation = "deviation" if name == "accuracy" else name.replace("accuracy", "deviation")
    return {name: round(mean(values), 3), deviation: None if spread is None else round(spread, 3)}


def _scheme_of(spec: "RunSpec") -> Scheme | None:
    """The scheme of a run, its own or its network's; None where coefficients are trained."""
    from zerosnet.models import configure

    if spec.scheme is not None:
        return spec.scheme
    config = configure(spec.model)
    return None if config.law else config.schemes[0]


def _printed() -> list[dict[str, Any]]:
    from zerosnet.experiments import EXPERIMENTS

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


def _main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        raise InputError("expected one argument, the folder of the runs")
    path = Path(__file__).with_name(FILE)
    path.write_text(json.dumps(collect_accuracies(Path(arguments[0])), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(path)


if __name__ == "__main__":
    _main(sys.argv[1:])

"""The facts about a run that the card of its network shows."""

from typing import Any

from zerosnet import files
from zerosnet.data import SCALINGS, image_size, source
from zerosnet.report.page.commands import train_command
from zerosnet.training import RunRecord

_METRICS = {
    "test_accuracy": "test, last epoch",
    "best_test_accuracy": "test, best epoch",
    "validation_accuracy": "validation, last epoch",
    "train_accuracy": "train, last epoch",
}


def run_facts(record: RunRecord) -> dict[str, Any]:
    """The facts of `zerosnet.models.model_card` for a run: metrics, recipe, command, hardware."""
    spec = record.spec
    result = {} if record.result is None else record.result.to_json()
    entry = source(spec.dataset)
    scaling = SCALINGS[spec.recipe.scaling]
    mean, std = (entry.mean, entry.std) if scaling is None else ([n] * len(entry.mean) for n in scaling)
    environment = record.folder / "environment.json"
    return {
        "run": record.id,
        "dataset": spec.dataset,
        "seed": spec.seed,
        "metrics": {name: result[key] for key, name in _METRICS.items() if key in result},
        "recipe": spec.recipe.to_json(),
        "command": train_command(spec),
        "environment": files.read_json(environment) if environment.exists() else None,
        "input": {"input_size": [len(mean), *image_size(spec.dataset)], "mean": list(mean), "std": list(std)},
    }

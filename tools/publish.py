"""Make a finished run a trained network of the package, with its card.

    python -m tools.publish RUN_FOLDER --data DIR

The weights are cast to half precision, and their accuracy is measured anew on the test set: what is stored is what was
measured. Without --data only what training measured is recorded.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from zerosnet.data import load, pixel_statistics
from zerosnet.errors import InputError
from zerosnet.models import CARD, FOLDER, WEIGHTS, load_model, model_card, save_model
from zerosnet.report import run_facts
from zerosnet.training import RunRecord, Store, evaluate, load_network

HALF = "test, last epoch, weights in half precision"
STORED = "float16 (convolutions and classifier) and float32 (batch norms, coefficients)"


def publish(record: RunRecord, data: Path | None = None, folder: Path = FOLDER) -> Path:
    """Write weights and card of a finished run; one of that architecture and data set that was there is replaced."""
    spec = record.spec
    if spec.scheme is not None:
        raise InputError(
            f"run {record.id} has a scheme of its own; expected one whose architecture's name determines it"
        )
    name = f"{spec.model}.{spec.dataset}"
    network, path = load_network(record), folder / f"{name}{WEIGHTS}"
    assert record.result is not None
    known = {"pretrained": name, "weights": STORED, "test_accuracy": record.result.test_accuracy}
    facts = known | run_facts(record)
    save_model(network, path, facts, half=True)
    halved = load_model(path)
    if data is not None:
        images = load(spec.dataset, data)
        (score,) = evaluate(halved, images.test, pixel_statistics(images, spec.recipe.scaling))
        facts["metrics"][HALF] = facts["test_accuracy"] = score.accuracy
        save_model(network, path, facts, half=True)
    (folder / f"{name}{CARD}").write_text(model_card(halved, facts), encoding="utf-8")
    return path


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.publish", description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of a finished run, with its weights")
    parser.add_argument("--data", type=Path, help="the folder that holds the data set, to measure the stored weights")
    given = parser.parse_args(arguments)
    try:
        record = Store(given.run.resolve().parent).find(given.run.resolve().name)
        path = publish(record, given.data)
    except InputError as error:
        print(f"publish: {error}", file=sys.stderr)
        return 2
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

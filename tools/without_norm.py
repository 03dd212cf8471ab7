"""Train networks without normalisation over schemes and learning rates, after a prediction of which of them learn.

    python -m tools.without_norm calibrate STORE    # Euler's scheme at every rate, results/without-norm/euler.json
    python -m tools.without_norm predict            # results/without-norm/predictions.json, once
    python -m tools.without_norm refine             # results/without-norm/predictions-20.json, once
    python -m tools.without_norm train STORE        # all others, results/without-norm/runs.json
    python -m tools.without_norm share              # results/without-norm/predictions-shared.json, once
    python -m tools.without_norm shared STORE       # shared projections, results/without-norm/shared.json

The images are the digits (8 x 8, no files needed), the networks have 20 and 56 layers, the recipe is `quick` with 20
epochs. A network learns if its accuracy after the last epoch is 50 % or more; chance is 10 %. Two cores train all of it
in about an hour. Predictions, for every scheme and learning rate:

sensitivity     it learns if the rate times the sensitivity of its wiring lies in the window of Euler's scheme
root_condition  a zero-stable scheme learns at the rates of Euler's, any other at none
same            every scheme learns at the rates of Euler's

`refine` was registered after 116 runs of 56 layers had begun (eleven schemes and half of a twelfth), and before any
other of 20 layers than Euler's: the lower end of the window falls like the sensitivity to the power 1/2, the upper end
like its power 1/4. `share` predicts by the same powers that two zero-stable schemes of 56 layers learn at the rates of
Euler's if all states share a projection at a stage change, and no longer at the lowest rates at which they learn with
independent ones.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import log10
from pathlib import Path
from typing import Any

from tools.markdown_tables import ROOT
from zerosnet.environment import environment, today
from zerosnet.files import write_bytes
from zerosnet.models import find_name
from zerosnet.numerics import Scheme, Wiring, is_zero_stable, sensitivity
from zerosnet.numerics.wirings.companion import largest_root
from zerosnet.training import Clock, Lines, Options, RunSpec, Store, recipe, train

HERE = ROOT / "results/without-norm"
EULER = "1,0,0;1"
SCHEMES = (
    "zerosnet(-9/5)",
    "zerosnet(10)",
    "zerosnet(1/2)",
    "1/10,1/5,3/10;2/5",
    "1/2,3/10,1/10;1/10",
    "1,3/10,-2/5;1",
    "0.5432,0.295,0.1603;0.5432",
    "-1/5,21/25,9/25;64/25",
    "11/5,-39/25,9/25;4/25",
    "-1/20,21/20,0;41/20",
    "-1/10,11/10,0;21/10",
    "-1/5,6/5,0;11/5",
    "-7/20,27/20,0;47/20",
    "1,1,1;1",
    "zerosnet(-1/2)",
    "zerosnet(1/4)",
    "zerosnet(-1/5)",
)
"""The paper's ten rows, a zero-stable scheme like (1, 1, 1), signs of a root, and parasitic roots that grow."""

LAYERS = (56, 20)
RATES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 1e-3, 1e-4, 1e-5, 1e-6)
EPOCHS = 20
SEED = 1
LEARNED = 0.5
LARGE, SHARED = ("zerosnet(1/2)", "11/5,-39/25,9/25;4/25"), "project-shared"
"""Zero-stable schemes whose sensitivity is large only since states are projected independently."""
REFINED = (1 / 2, 1 / 4)
"""Powers of the sensitivity by which the ends of the window fall, read off the first networks of 56 layers."""


def spec(scheme: str, layers: int, rate: float, stage_change: str | None = None) -> RunSpec:
    """Describe one training."""
    how = replace(recipe("quick", "digits"), epochs=EPOCHS, lr=rate)
    return RunSpec(f"zerosnet{layers}_nonorm", "digits", how, SEED, Scheme.parse(scheme), stage_change=stage_change)


def specs(schemes: Iterable[str]) -> list[RunSpec]:
    return [spec(scheme, layers, rate) for layers in LAYERS for scheme in schemes for rate in RATES]


def shared_specs() -> list[RunSpec]:
    return [spec(scheme, LAYERS[0], rate, SHARED) for scheme in LARGE for rate in RATES]


def outcome(store: Store, one: RunSpec) -> dict[str, Any]:
    """Describe a run that has ended in a line."""
    record = store.get(one)
    if record is None or record.result is None or one.scheme is None:
        raise SystemExit(f"{one.id} has not ended")
    result = record.result
    return {
        "run": one.id,
        "scheme": one.scheme.name,
        "layers": find_name(one.model)[1],
        "lr": one.recipe.lr,
        "status": record.status,
        "test_accuracy": result.test_accuracy,
        "train_accuracy": result.train_accuracy,
        "learned": learned(record.status, result.test_accuracy),
        "begun": record.environment().get("begun"),
    }


def learned(status: str, accuracy: float | None) -> bool:
    return status == "finished" and accuracy is not None and accuracy >= LEARNED


def train_all(
    store: Store,
    wanted: Sequence[RunSpec],
    path: Path,
    command: str,
    outcome: Callable[[Store, RunSpec], dict[str, Any]] = outcome,
) -> None:
    """Train what is missing, and write the outcome of all, a line for each."""
    with Clock(None) as clock:
        train(wanted, store, Options(device="cpu", replicas=1), clock=clock, progress=Lines(quiet=True))
        if clock.must_stop():
            raise SystemExit("stopped; the same command goes on")
    text = json.dumps({"command": command, "date": today(), "environments": environments(store, wanted)}, indent=1)
    lines = ",\n".join(json.dumps(outcome(store, one)) for one in wanted)
    path.parent.mkdir(exist_ok=True)
    write_bytes(path, f'{text[:-2]},\n "runs": [\n{lines}\n]}}\n'.encode())


def environments(store: Store, wanted: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """List what runs were made with, each different one once."""
    found: dict[str, dict[str, Any]] = {}
    for one in wanted:
        record = store.get(one)
        mine = {} if record is None else record.environment()
        found.setdefault(
            json.dumps({key: value for key, value in mine.items() if key != "begun"}, sort_keys=True), mine
        )
    return list(found.values())


def window(runs: Iterable[dict[str, Any]]) -> tuple[float, float]:
    """The rates between which Euler's scheme learns: half-way, on a logarithmic scale, to those where it does not."""
    rates = sorted(run["lr"] for run in runs)
    good = sorted(run["lr"] for run in runs if run["learned"])
    below, above = (rates.index(good[0]) - 1, rates.index(good[-1]) + 1)
    return (rates[below] * good[0]) ** 0.5, (rates[above] * good[-1]) ** 0.5


def predictions() -> dict[str, Any]:
    """Predict which networks learn at which rate, from the rates of Euler's scheme with the same number of layers."""
    known = json.loads((HERE / "euler.json").read_text())
    found: dict[str, Any] = {
        "command": "python -m tools.without_norm predict",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "learned": LEARNED,
        "windows": {},
        "predictions": [],
    }
    for layers in LAYERS:
        euler = [run for run in known["runs"] if run["layers"] == layers]
        low, high = window(euler)
        found["windows"][str(layers)] = [low, high]
        as_euler = [run["lr"] for run in euler if run["learned"]]
        for text in SCHEMES:
            scheme = Scheme.parse(text)
            size = sensitivity(Wiring.of(scheme, ((layers - 2) // 6,) * 3)).log10
            stable = bool(is_zero_stable(scheme))
            found["predictions"].append(
                {
                    "scheme": scheme.name,
                    "layers": layers,
                    "zero_stable": stable,
                    "largest_root": round(largest_root(scheme), 4),
                    "log10_sensitivity": round(size, 3),
                    "learns": {
                        "sensitivity": [lr for lr in RATES if log10(low) <= log10(lr) + size <= log10(high)],
                        "root_condition": as_euler if stable else [],
                        "same": as_euler,
                    },
                }
            )
    return found


def refined(layers: int = LAYERS[1]) -> dict[str, Any]:
    """Predict again for one number of layers, by the powers that the first networks of 56 layers have shown."""
    known = json.loads((HERE / "predictions.json").read_text())
    low, high = known["windows"][str(layers)]
    found: dict[str, Any] = {
        "command": "python -m tools.without_norm refine",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "powers": {"lower end": REFINED[0], "upper end": REFINED[1]},
        "predictions": [],
    }
    for one in known["predictions"]:
        if one["layers"] == layers:
            size = one["log10_sensitivity"]
            ends = log10(low) - REFINED[0] * size, log10(high) - REFINED[1] * size
            rates = [lr for lr in RATES if ends[0] <= log10(lr) <= ends[1]]
            found["predictions"].append({"scheme": one["scheme"], "layers": layers, "learns": rates})
    return found


def shared_predictions() -> dict[str, Any]:
    """Predict where networks with shared projections learn, by the powers of `refined`."""
    low, high = json.loads((HERE / "predictions.json").read_text())["windows"][str(LAYERS[0])]
    found: dict[str, Any] = {
        "command": "python -m tools.without_norm share",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "stage_change": SHARED,
        "predictions": [],
    }
    for scheme in LARGE:
        size = sensitivity(Wiring.of(scheme, (9, 9, 9), SHARED)).log10
        ends = log10(low) - REFINED[0] * size, log10(high) - REFINED[1] * size
        rates = [lr for lr in RATES if ends[0] <= log10(lr) <= ends[1]]
        found["predictions"].append(
            {"scheme": Scheme.parse(scheme).name, "log10_sensitivity": round(size, 3), "learns": rates}
        )
    return found


def write_once(path: Path, what: dict[str, Any]) -> None:
    """Write predictions, which are never edited."""
    if path.exists():
        raise SystemExit(f"{path} is there; predictions are never edited")
    write_bytes(path, (json.dumps(what, indent=1) + "\n").encode())


def main(*arguments: str) -> None:
    command = " ".join(["python -m tools.without_norm", *arguments[:1], *(["STORE"] if arguments[1:] else [])])
    match arguments:
        case ("calibrate", store):
            train_all(Store(Path(store)), specs([EULER]), HERE / "euler.json", command)
        case ("predict",):
            write_once(HERE / "predictions.json", predictions())
        case ("refine",):
            write_once(HERE / "predictions-20.json", refined())
        case ("share",):
            write_once(HERE / "predictions-shared.json", shared_predictions())
        case ("shared", store):
            train_all(Store(Path(store)), shared_specs(), HERE / "shared.json", command)
        case ("train", store):
            train_all(Store(Path(store)), specs(SCHEMES), HERE / "runs.json", command)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Fit the accuracy law to the records of trained networks; the constants go to src/zerosnet/numerics/wirings/law.json.

    python -m tools.fit_law

Networks on CIFAR-10 with recipe `paper` count, none of its settings changed, in the standard arithmetic, trained on all
images, with normalisation and with coefficients that are not trained. LM-ResNet, which trains its k, stands for
k = -1/20, the mean of its start values. Networks whose initial weights grow (`init_growth`) have two readings and are
left out: their coefficients do not determine them. So are runs that did not finish, and networks that did not learn: a
training accuracy below a half is no matter of depth. Schemes per block, growing betas, f switched off and other stage
changes count like all others. Runs of one wiring count once, by their mean.

Which blocks survive training is counted from the shares of the trained blocks of the same runs (ablation.json).
"""

import json
from collections import defaultdict
from collections.abc import Container, Sequence
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from zerosnet.experiments import wiring_of_run
from zerosnet.models import configure
from zerosnet.numerics import AccuracyLaw, Wiring
from zerosnet.numerics.wirings.fit import Point, fit_law
from zerosnet.numerics.wirings.law import LAW_FILE
from zerosnet.numerics.wirings.stages import parameters_by_stage
from zerosnet.numerics.wirings.survival import ALIVE, count_survival, start_weights
from zerosnet.training import RunSpec

RUNS = Path(__file__).parents[1] / "results" / "runs"
LEARNED = 0.5  # the least training accuracy of a network that counts
DIGITS = 6
EPOCHS = {"best": "best_test_accuracy", "last": "test_accuracy"}


class Wired(NamedTuple):
    """What tells the wiring of one network from that of another."""

    scheme: str
    blocks: tuple[int, ...]
    stage_change: str
    beta_growth: str
    block_schemes: tuple[str, ...]


def read_points(epoch: str, dataset: str = "cifar10", recipe: str = "paper", runs: Path = RUNS) -> list[Point]:
    """The trained networks of a store, one point per wiring."""
    return [point for point, _ in read_groups(epoch, dataset, recipe, runs)]


def read_groups(
    epoch: str, dataset: str = "cifar10", recipe: str = "paper", runs: Path = RUNS
) -> list[tuple[Point, tuple[str, ...]]]:
    """The same, each with the ids of its runs."""
    wirings: dict[Wired, Wiring] = {}
    values: dict[Wired, dict[str, float]] = defaultdict(dict)
    for path in sorted(runs.glob("*/result.json")):
        spec = RunSpec.from_json(json.loads(path.with_name("spec.json").read_text()))
        result = json.loads(path.read_text())
        counts = _is_usual(spec, dataset, recipe) and has_learned(result)
        wiring = wiring_of_run(spec) if counts else None
        if wiring is not None:
            key = _wired(spec, wiring)
            wirings[key] = wiring
            values[key][spec.id] = 100 * result[EPOCHS[epoch]]
    found = []
    for key in sorted(values):
        mean = fmean(values[key].values())
        point = Point(wirings[key], mean, key.scheme, key.stage_change, len(values[key]), *key[3:])
        found.append((point, tuple(values[key])))
    return found


def _is_usual(spec: RunSpec, dataset: str, recipe: str) -> bool:
    """Check if a run is on these data, by this recipe as it is in the book, in the standard arithmetic."""
    unusual = (spec.precision, spec.validation, spec.init_growth)
    same = (spec.dataset, spec.recipe.name) == (dataset, recipe)
    return same and all(option is None for option in unusual) and not spec.changes


def has_learned(result: dict[str, Any]) -> bool:
    """Check if a run has finished, with a network that fits most of its training images."""
    return result["status"] == "finished" and (result.get("train_accuracy") or 1.0) >= LEARNED


def _wired(spec: RunSpec, wiring: Wiring) -> Wired:
    change = configure(spec.model, **spec.network_options).stage_change
    schemes = () if spec.block_schemes is None else tuple(map(str, spec.block_schemes))
    first_multistep = max(wiring.alphas, wiring.betas) - 1
    scheme = spec.scheme or (spec.block_schemes or wiring.schemes()[first_multistep:])[0]
    return Wired(str(scheme), wiring.counts, change, str(spec.beta_growth or 1), schemes)


def fitted(runs: Path = RUNS) -> list[AccuracyLaw]:
    """Fit all laws, of the best and of the last epoch."""
    laws, survival = [], count_survival(*trained_blocks(runs)[:2])
    for epoch in EPOCHS:
        points = read_points(epoch, runs=runs)
        shares = fit_law(points, "shares", epoch=epoch)
        contributions = fit_law(points, "contributions", epoch=epoch)
        laws += [
            fit_law(points, "parts", epoch=epoch, floor=True, survival=survival),
            contributions,
            shares,
        ]
    return laws


class TrainedBlocks(NamedTuple):
    """All blocks of all networks: weight at the start, whether alive after training, share then, and stage."""

    start: list[float]
    alive: list[bool]
    share: list[float]
    stage: list[int]


def trained_blocks(runs: Path = RUNS, only: Container[str] | None = None) -> TrainedBlocks:
    """Read what became of every block whose trained share was recorded; `only`: the ids of the runs that count."""
    found = TrainedBlocks([], [], [], [])
    for point, names in read_groups("best", runs=runs):
        wiring, per_block = point.wiring, parameters_by_stage(point.wiring.counts)
        weights = start_weights(wiring.shares(), wiring.head_parts(), per_block)
        for path in (runs / name / "ablation.json" for name in names if only is None or name in only):
            shares = json.loads(path.read_text()).get("ratios") if path.exists() else None
            if shares is not None:
                found.start.extend(weights.tolist())
                found.share.extend(shares)
                found.alive.extend(share >= ALIVE for share in shares)
                found.stage.extend(round(log(parameters, 4)) for parameters in per_block)
    return found


def as_text(laws: Sequence[AccuracyLaw]) -> str:
    """Write laws as JSON, a line per network; on every machine the same, by rounding what was fitted."""
    written = []
    for law in laws:
        data = {name: _rounded(value) for name, value in law.to_json().items()}
        networks = ",\n".join(f"   {json.dumps(network)}" for network in data.pop("networks"))
        facts = json.dumps(data, indent=1).removesuffix("\n}").replace("\n", "\n ")
        written.append(f'  {facts},\n   "networks": [\n{networks}\n   ]\n  }}')
    return '{\n "written_by": "python -m tools.fit_law",\n "laws": [\n' + ",\n".join(written) + "\n ]\n}\n"


def _rounded(value: Any) -> Any:
    """Round all numbers in JSON to the digits on which all machines agree."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main() -> None:
    laws = fitted()
    LAW_FILE.write_text(as_text(laws))
    for law in laws:
        constants = ", ".join(f"{name} {getattr(law, name):.4g}" for name in ("a", "tau", "p", "floor"))
        print(f"{law.measure:14} {law.epoch}: {constants}; leave-one-out {law.rmse:.2f} points")


if __name__ == "__main__":
    main()

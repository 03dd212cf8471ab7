"""Run folders that look like real ones and were never run: for tests of the page, and for nothing else."""

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from zerosnet.numerics import PAPER_ROWS, Scheme, root_condition
from zerosnet.robustness.attacks.sanity import sanity_checks
from zerosnet.robustness.perturbations.noises import PAPER_NOISES
from zerosnet.robustness.protocols.result import ProtocolResult as Attack
from zerosnet.robustness.protocols.result import ResultRow
from zerosnet.training import RunSpec, Store, recipe

IMAGES = 10_000
ENVIRONMENT = {
    "zerosnet": "0.1.0",
    "git": None,
    "python": "3.11.0",
    "packages": {"torch": "2.8.0"},
    "platform": "none: made up by a test",
    "cpu": {"model": "Made-up processor", "cores": 2},
    "gpu": None,
}


def specs_of_rows(depths: Iterable[int] = (56,), seeds: Iterable[int] = (1, 2, 3), **options: object) -> list[RunSpec]:
    """The ten rows of the paper with its settings."""
    book = recipe("paper", "cifar10", **options)
    return [
        RunSpec(f"zerosnet{depth}", "cifar10", book, seed, row.scheme)
        for depth in depths
        for row in PAPER_ROWS
        for seed in seeds
    ]


def many_specs(count: int) -> list[RunSpec]:
    """Distinct runs in several panels."""
    base = specs_of_rows((20, 32, 44, 56), (1, 2, 3))
    disc = [
        replace(base[0], scheme=Scheme([1 + k / 500, -k / 500], [1 - k / 500]), model="zerosnet20")
        for k in range(1, max(1, count - len(base)) + 1)
    ]
    return (base + disc)[:count]


def write_run(store: Path, spec: RunSpec, *, attacks: bool = True, finished: bool = True) -> Path:
    """The folder of a run that was never run."""
    chance = random.Random(spec.id)
    stable = spec.scheme is None or bool(root_condition(spec.scheme).zero_stable)
    final = (0.93 if stable else 0.79) + chance.uniform(-0.01, 0.01)
    epochs = spec.recipe.epochs if finished else spec.recipe.epochs // 3
    folder = store / spec.id
    folder.mkdir(parents=True)
    _write(folder / "spec.json", spec.to_json())
    _write(folder / "environment.json", ENVIRONMENT)
    rows = []
    for epoch in range(1, epochs + 1):
        test = final - 0.5 / (1 + epoch) - (0.1 * chance.random() if epoch < epochs / 2 else 0)
        rows.append({"epoch": epoch, "lr": 0.1, "test_accuracy": test, "test_loss": 1.0, "train_accuracy": test})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if finished:
        result = {"status": "finished", "epochs": epochs, "seconds": 60.0, "test_accuracy": final}
        _write(
            folder / "result.json", result | {"best_epoch": epochs, "best_test_accuracy": final, "train_accuracy": 0.99}
        )
    if finished and attacks:
        _write(folder / "ablation.json", _ablation(spec.id, final, stable))
        (folder / "attacks").mkdir()
        for attack in (_noise(final, stable), _pgd(final)):
            _write(folder / "attacks" / f"{attack.protocol}.json", {"run": spec.id, **attack.to_json()})
    return folder


def _ablation(run: str, final: float, stable: bool) -> dict[str, object]:
    """27 blocks, of which an unstable network uses six."""
    used = 27 if stable else 6
    without = [final * min(1.0, (n + 1) / used) for n in range(27)]
    ratios = [0.5 if stable else 10.0 ** (-n / 2) for n in range(27)]
    return {
        "run": run,
        "images": 256,
        "accuracy": final,
        "accuracy_without": without,
        "ratios": ratios,
        "effective_depth": sum(r >= 0.01 for r in ratios),
    }


def _noise(final: float, stable: bool) -> Attack:
    fall = 0.5 if stable else 0.9
    rows = [_row("clean, 10000 images", "clean", final)]
    for noise in PAPER_NOISES:
        level = abs(noise.shift) + noise.scale
        rows.append(_row(noise.label, "noise", max(0.1, final - fall * level), settings=noise.to_json()))
    return Attack("paper-noise", tuple(rows), settings={"images": IMAGES})


def _pgd(final: float) -> Attack:
    """With a check that fails: PGD leaves more than FGSM."""
    rows = [_row("clean, 10000 images", "clean", final)]
    for eps in (3 / 255, 5 / 255, 8 / 255):
        settings = {"step": eps / 4, "steps": 20}
        rows.append(_row(f"fgsm {eps:.4g}", "fgsm", 0.3, "white-box", eps, {"step": eps, "steps": 1}))
        rows.append(_row(f"pgd-20 {eps:.4g}", "pgd-20", 0.5 - 10 * eps, "white-box", eps, settings))
    return Attack("paper-pgd", tuple(rows), sanity_checks(rows, 10), settings={"images": IMAGES})


def _row(label, method, accuracy, access=None, eps=None, settings=None) -> ResultRow:
    correct = round(accuracy * IMAGES)
    return ResultRow(label, method, correct / IMAGES, correct, IMAGES, access, eps, eps, settings or {})


def _write(path: Path, data: object) -> None:
    path.write_text(json.dumps(data))


def four_runs(folder: Path) -> Store:
    """A store of two networks with two seeds each, made up."""
    for spec in specs_of_rows(seeds=(1, 2), epochs=3)[:4]:
        write_run(folder / "runs", spec)
    return Store(folder / "runs")

import json
from functools import partial

import pytest

from zerosnet.environment import environment
from zerosnet.models import create_model, save_model
from zerosnet.training import Result, RunSpec, Store, recipe

SPEC = RunSpec("zerosnet20_opt", "digits", recipe("quick", "digits", epochs=3), 1)
ACCURACIES = (0.5, 0.9, 0.8)


@pytest.fixture
def store(tmp_path):
    """A store with a finished run, its attack and its ablation, and a run that was stopped."""
    store = Store(tmp_path / "store")
    with store.claim(SPEC) as run:
        run.write_environment(environment() | {"data": "ab", "kernels": "torch", "arithmetic": "float32"})
        for epoch, accuracy in enumerate(ACCURACIES, 1):
            run.append_metrics({"epoch": epoch, "test_accuracy": accuracy, "test_loss": 1.0})
        result = Result("finished", 3, 1.0, test_accuracy=0.8, test_loss=1.0, best_epoch=2, best_test_accuracy=0.9)
        model = create_model("zerosnet20_opt", in_chans=1, seed=1)
        run.finish(result, partial(save_model, model, facts={"run": SPEC.id}))
    with store.claim(RunSpec(SPEC.model, SPEC.dataset, SPEC.recipe, 2)) as run:
        run.write_environment(environment() | {"data": "ab", "kernels": "torch", "arithmetic": "float32"})
        run.append_metrics({"epoch": 1, "test_accuracy": 0.5, "test_loss": 1.0})
        run.save_checkpoint(4, dict(model.state_dict()), {"epoch": 1})
    folder = store.root / SPEC.id
    (folder / "attacks").mkdir()
    rows = [{"method": "clean", "accuracy": 0.8, "correct": 800, "images": 1000}]
    attack = {"run": SPEC.id, "protocol": "paper-noise", "rows": rows, "data": "ab", "environment": environment()}
    (folder / "attacks" / "paper-noise.json").write_text(json.dumps(attack))
    ablation = {"run": SPEC.id, "images": 1000, "accuracy": 0.805, "environment": environment()}
    (folder / "ablation.json").write_text(json.dumps(ablation))
    return store


@pytest.fixture
def folder(store):
    return store.root / SPEC.id


@pytest.fixture
def stopped(store):
    return next(path for path in store.root.iterdir() if path.name != SPEC.id)

"""Finished runs to attack, which were never trained."""

from functools import partial

import pytest
import torch

from zerosnet.models import create_model
from zerosnet.models.io.weights import save_model
from zerosnet.training import Result, RunSpec, Store, recipe

CPU = torch.device("cpu")
FEW = {"device": CPU, "images": 6}


def finished(store: Store, model: str, seed: int, recipe_name: str = "quick", **changes) -> str:
    """A run that has ended, with weights as they were drawn: what attacks measure of it does not matter here."""
    spec = RunSpec(model, "digits", recipe(recipe_name, "digits", epochs=1, **changes), seed)
    with store.claim(spec) as run:
        network = create_model(model, in_chans=1, seed=seed)
        run.finish(Result("finished", 1, 0.1, test_accuracy=0.1), partial(save_model, network))
    return spec.id


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two networks of one kind, and one to make examples on."""
    found = Store(tmp_path_factory.mktemp("store"))
    for seed in (1, 2):
        finished(found, "zerosnet20_opt", seed)
    finished(found, "preresnet20", 1)
    return found


@pytest.fixture(scope="module")
def opt(store: Store) -> list[str]:
    return [record.id for record in store.records() if record.spec.model == "zerosnet20_opt"]

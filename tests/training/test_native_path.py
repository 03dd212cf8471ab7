"""The native path: batches, steps, updates and evaluations are kernels of our own; torch compiles none of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.kernels.host import needs_compiler
from tests.training.native_path import step_and_evaluate

from zerosnet.data import DataSet, gather
from zerosnet.training import RunSpec
from zerosnet.training.fused import trainer
from zerosnet.training.fused.optimizer import Adam, Sgd


@needs_compiler
@pytest.mark.parametrize(("rule", "update"), [(Sgd(), "update_sgd"), (Adam(), "update_adam")])
def test_batches_and_updates_are_kernels_of_our_own(
    monkeypatch: pytest.MonkeyPatch, rule: Sgd | Adam, update: str
) -> None:
    names = [launch.name for launch in step_and_evaluate(monkeypatch, rule).launched]
    assert {"gather_images", update} <= set(names)
    assert names.index("gather_images") < names.index("stem_forward") < names.index(update)
    assert names[names.index(update) :].count("gather_images") == 2, "an evaluation of two batches"


def test_every_batch_of_a_training_is_made_by_its_backend(
    make_specs: Callable[..., list[RunSpec]], small_digits: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[torch.Tensor] = []
    given: dict[str, Any] = {}

    def noted(*arguments: Any, **options: Any) -> torch.Tensor:
        made.append(gather(*arguments, **options))
        return made[-1]

    def chosen(*arguments: Any, **options: Any) -> Any:
        given.update(options)
        return replace(choose(*arguments, **options), gather=noted)

    choose = trainer.choose_backend
    monkeypatch.setattr(trainer, "choose_backend", chosen)
    training = trainer.FusedTrainer(make_specs(1), small_digits, torch.device("cpu"))
    assert given["optimizer"] is training.optimizer
    training.begin_epoch(0, 0)
    training.step()
    assert len(made) == 1
    training.tests["test"].run()
    training.close()
    assert len(made) == 1 + training.tests["test"].passes

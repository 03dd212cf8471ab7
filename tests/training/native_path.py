"""Training through our own kernels as the engine chooses them, on a chip that computes nothing."""

import pytest
import torch
from tests.kernels.fake_chip import Chip, install

from zerosnet.data import Augmentation, Feed, ImageSet
from zerosnet.models import create_model
from zerosnet.training.fused.optimizer import Adam, Optimizer, Sgd
from zerosnet.training.fused.passes import Evaluation, choose_backend

REPLICAS, BATCH = 2, 4
CPU = torch.device("cpu")


def step_and_evaluate(monkeypatch: pytest.MonkeyPatch, rule: Sgd | Adam) -> Chip:
    """Make a batch, learn from it, and evaluate, all with what `choose_backend` gives to a compiled training."""
    chip = install(monkeypatch)
    monkeypatch.setattr("zerosnet.training.fused.passes.reason_against", lambda *_: None)
    model = create_model("zerosnet20_opt", replicas=REPLICAS, seed=[0, 1]).to(memory_format=torch.channels_last)
    parameters = dict(model.named_parameters())
    groups, decays = dict.fromkeys(parameters, 0), [[0.0] * REPLICAS]
    optimizer = Optimizer(parameters, rule, replicas=REPLICAS, decays=decays, groups=groups, flat_update=True)
    backend = choose_backend(
        "native",
        model,
        size=(32, 32),
        batch=BATCH,
        label_smoothing=0.0,
        device=CPU,
        compiled=True,
        optimizer=optimizer,
    )
    images = ImageSet(torch.zeros(2 * BATCH, 3, 32, 32, dtype=torch.uint8), torch.zeros(2 * BATCH, dtype=torch.long))
    statistics = (torch.zeros(3), torch.ones(3))
    feed = Feed(
        images,
        seeds=[0, 1],
        batch=BATCH,
        augmentation=Augmentation(crop=4, flip=True),
        statistics=statistics,
        rates=lambda epoch: torch.zeros(2, REPLICAS, dtype=torch.float64),
        epochs=1,
        channels_last=True,
        gather=backend.gather,
    )
    feed.begin(0)
    shown, labels, rates = feed.batch()
    _, _, gradients = backend.step(shown, labels)
    optimizer.update(gradients, rates, torch.ones(REPLICAS, dtype=torch.bool))
    feed.close()
    predict = backend.predictor(BATCH)
    Evaluation(predict, images, statistics, batch=BATCH, channels_last=True, gather=backend.gather).run()
    return chip

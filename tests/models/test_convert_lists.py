"""Networks that go through a list of blocks, with keyword arguments, tuples and dictionaries, advanced by a scheme."""

import copy

import pytest
import torch
from tests.models.reading.networks import NETWORKS, awake
from tests.models.reading.zoo import Dictionaries
from torch import nn

from zerosnet.errors import InputError
from zerosnet.models import MultistepStage, multistep, wiring_of

LISTS = ["timm vit", "timm convnext", "torchvision vit", "gpt2", "llama"]


def output(model: nn.Module, example: torch.Tensor) -> torch.Tensor:
    found = model(example)
    return found if isinstance(found, torch.Tensor) else found.logits


def stage_of(model: nn.Module) -> MultistepStage:
    return next(module for module in model.modules() if isinstance(module, MultistepStage))


@pytest.mark.parametrize("name", LISTS)
def test_eulers_scheme_changes_nothing(name: str) -> None:
    network = NETWORKS[name]
    model, example = network.build(), network.example()
    awake(model)
    converted = multistep(model, "1;1", example=example).eval()
    assert torch.equal(output(converted, example), output(model, example))
    assert converted.state_dict().keys() == model.state_dict().keys()


@pytest.mark.parametrize("name", ["timm vit", "timm convnext", "gpt2"])
def test_a_converted_network_takes_a_step_of_training(name: str) -> None:
    network = NETWORKS[name]
    model, example = network.build(), network.example()
    awake(model)
    converted = multistep(model, "1/2,1/2;3/2", example=example).train()
    assert not torch.equal(output(converted, example), output(model, example))
    optimizer = torch.optim.SGD(converted.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        logits = output(converted, example).flatten(0, -2)
        loss = nn.functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]
    assert all(p.grad is not None for p in stage_of(converted).parameters())


def test_two_steps_of_a_language_model_are_the_recursion() -> None:
    network = NETWORKS["gpt2"]
    model, tokens = network.build(), network.example()
    converted = multistep(model, "1/2,1/2;3/2", example=tokens).eval()
    body = model.transformer
    with torch.no_grad():
        y0 = body.wte(tokens) + body.wpe(torch.arange(tokens.shape[1]))
        mask = torch.full((12, 12), float("-inf")).triu(1)[None, None]
        y1 = body.h[0](y0, attention_mask=mask)
        f1 = body.h[1](y1, attention_mask=mask) - y1
        expected = model.lm_head(body.ln_f(0.5 * y1 + 0.5 * y0 + 1.5 * f1))
        assert torch.allclose(output(converted, tokens), expected, atol=1e-5)


def test_dictionaries_and_keywords_are_kept() -> None:
    model = Dictionaries([1.0, 0.5, 0.25])
    example = {"images": torch.randn(3, 5, 8)}
    converted = multistep(model, "leapfrog", example=example)
    assert stage_of(converted).places[0].given == (1, "state")
    assert stage_of(converted).places[0].returned == ("state",)
    with torch.no_grad():
        y0 = model.stem(example["images"])
        y1 = model.blocks[0](state=y0, scale=1.0)["state"]
        y2 = y0 + 2 * (model.blocks[1](state=y1, scale=0.5)["state"] - y1)
        y3 = y1 + 2 * (model.blocks[2](state=y2, scale=0.25)["state"] - y2)
        assert torch.allclose(converted(**example)["logits"], model.head(y3), atol=1e-5)


def test_blocks_that_are_called_by_their_index_are_refused() -> None:
    class ByIndex(Dictionaries):
        def forward(self, *, images: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            state = self.stem(images)
            for n in range(len(self.blocks)):
                state = self.blocks[n](state=state, scale=1.0)["state"]
            return self.head(state)

    with pytest.raises(InputError, match="does not go through 'blocks' in order"):
        multistep(ByIndex([1.0, 1.0]), "leapfrog", example={"images": torch.randn(3, 5, 8)})


@pytest.mark.parametrize("order", [reversed, lambda blocks: list(blocks)[:-1]])
def test_loops_backwards_and_over_a_part_are_refused(order) -> None:
    class InAnotherOrder(Dictionaries):
        def forward(self, *, images: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            state = self.stem(images)
            for block in order(self.blocks):
                state = block(state=state, scale=1.0)["state"]
            return self.head(state)

    with pytest.raises(InputError, match="expected a loop over all of it, in order"):
        multistep(InAnotherOrder([1.0] * 4), "leapfrog", example={"images": torch.randn(3, 5, 8)})


def test_the_wiring_of_a_converted_network_has_its_scheme() -> None:
    model = Dictionaries([1.0] * 4)
    example = {"images": torch.randn(3, 5, 8)}
    found = wiring_of(multistep(copy.deepcopy(model), "1/2,1/2;3/2", example=example), example)
    kept = sorted({round(float(a), 6) for step in found.steps[1:-1] for row in step.A for a in row})
    assert kept == [0.0, 0.5, 1.0]


def test_layers_that_mix_streams_are_no_steps() -> None:
    network = NETWORKS["deepseek"]
    with pytest.raises(InputError, match="none of them is a module that returns the sum"):
        multistep(network.build(), "1;1", example=network.example())

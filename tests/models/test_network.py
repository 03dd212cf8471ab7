"""Networks with other precisions, odd images and other classifiers; test_export.py has copies and compilers."""

import copy
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import create_model, load_model, save_model
from zerosnet.models.layers.replicated import Conv, Linear
from zerosnet.models.network import KEEP_STATES


@pytest.mark.parametrize("name", ["zerosnet20_opt", "zerosnet164_opt", "zerosnet18_opt", "zerosnet50_opt"])
@pytest.mark.parametrize("in_chans", [1, 3])
def test_one_or_three_channels_and_odd_sizes(name: str, in_chans: int) -> None:
    model = create_model(name, in_chans=in_chans, num_classes=4, seed=0)
    for height, width in ((28, 28), (33, 17)):
        assert model(torch.randn(2, in_chans, height, width)).shape == (2, 4)


def test_features_are_the_map_before_the_pool() -> None:
    model = create_model("zerosnet164_opt", seed=0).eval()
    x = torch.randn(2, 3, 16, 16)
    features = model.forward_features(x)
    assert features.shape == (2, 256, 4, 4) and model.num_features == 256
    pooled = model.forward_head(features, pre_logits=True)
    assert torch.equal(pooled, features.mean((2, 3)))
    assert torch.equal(model.fc(pooled), model(x))


def test_a_new_classifier_may_have_other_classes_or_none() -> None:
    model = create_model("zerosnet20_opt", replicas=2, seed=0)
    x = torch.randn(2, 6, 8, 8)
    model.reset_classifier(3)
    assert model(x).shape == (2, 2, 3) and model.config.num_classes == 3
    model.reset_classifier(0)
    assert model(x).shape == (2, 2 * 64)


def types_seen(model: nn.Module, x: Tensor) -> dict[str, set[torch.dtype]]:
    """Output types by kind of layer, and those of the states."""
    seen: dict[str, set[torch.dtype]] = {}

    def note(module: nn.Module, _: object, output: Tensor) -> None:
        seen.setdefault(type(module).__name__, set()).add(output.dtype)

    for module in model.modules():
        if isinstance(module, Conv | Linear):
            module.register_forward_hook(note)
    seen["state"] = {state.dtype for step in model.walk(x) for state in (*step.states, step.slope, step.state)}
    return seen


@pytest.mark.parametrize("name", ["zerosnet20_tra", "zerosnet164_opt", "zerosnet18_opt", "lmresnet20"])
def test_only_convolutions_compute_in_conv_dtype(name: str) -> None:
    model = create_model(name, seed=0).eval()
    x = torch.randn(2, 3, 17, 17)
    expected = model(x)
    model.conv_dtype = torch.bfloat16
    with torch.backends.mkldnn.flags(enabled=False):  # oneDNN's bfloat16 ends in SIGILL on some virtual machines
        seen = types_seen(model, x)
        logits = model(x)
        logits.square().sum().backward()
    assert seen == {"Conv": {torch.bfloat16}, "Linear": {torch.float32}, "state": {torch.float32}}
    assert logits.dtype is torch.float32 and not torch.equal(logits, expected)
    assert torch.allclose(logits, expected, atol=0.1 * expected.abs().max().item())
    assert all(p.grad is not None and p.dtype is p.grad.dtype is torch.float32 for p in model.parameters())


def test_images_of_half_precision_are_widened_and_of_double_kept() -> None:
    model = create_model("zerosnet20_opt", seed=0)
    assert model(torch.randn(2, 3, 8, 8).half()).dtype is torch.float32
    assert model.double()(torch.randn(2, 3, 8, 8).double()).dtype is torch.float64


@pytest.mark.parametrize(
    ("parameters", "image"),
    [(torch.float32, torch.float64), (torch.float64, torch.float32), (torch.float16, torch.float16)],
)
def test_images_and_parameters_of_different_types_are_refused_in_one_line(
    parameters: torch.dtype, image: torch.dtype
) -> None:
    with pytest.raises(InputError, match=f"images are {image}.*parameters are {parameters}"):
        create_model("zerosnet20_opt", seed=0).to(parameters)(torch.randn(2, 3, 8, 8).to(image))


def test_networks_can_be_described_on_the_meta_device() -> None:
    with torch.device("meta"):
        model = create_model("zerosnet164", scheme="zerosnet(1)")
    assert model(torch.empty(1, 3, 32, 32, device="meta")).shape == (1, 10)


def test_channels_last_changes_nothing_but_rounding() -> None:
    model = create_model("zerosnet20_tra", seed=0).double()
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    expected = model(x)
    model = model.to(memory_format=torch.channels_last)
    assert torch.allclose(model(x.contiguous(memory_format=torch.channels_last)), expected, atol=1e-10)


def test_a_compiled_network_can_be_copied_pickled_and_saved(tmp_path: Path) -> None:
    torch.compiler.reset()
    model, x = create_model("zerosnet20_tra", seed=1), torch.randn(3, 3, 8, 8)
    expected = model.eval()(x)
    model.compile(backend="eager", fullgraph=True)
    assert torch.equal(model(x), expected)
    saved = load_model(save_model(model, tmp_path / "net.safetensors"))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), saved):
        assert torch.equal(other.eval()(x), expected)


def test_compiling_keeps_every_state_unless_the_caller_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.setattr(torch, "compile", lambda function, **options: asked.append(options) or function)
    for options in ({}, {"dynamic": False}, {"mode": "reduce-overhead"}, {"backend": "eager"}):
        create_model("zerosnet20_opt").compile(**options)
    assert [o.pop("options", None) for o in asked] == [KEEP_STATES, KEEP_STATES, None, None]
    assert asked == [{}, {"dynamic": False}, {"mode": "reduce-overhead"}, {"backend": "eager"}]

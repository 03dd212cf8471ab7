"""Networks leave the room in every way that torch knows: export, ONNX, compilation, copies, pickles, state dicts."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from zerosnet.models import Network, Structure, configure

SMALL = {
    ("cifar", "basic"): (2, 2, 1),
    ("cifar", "bottleneck"): (3, 1, 1),
    ("imagenet", "basic"): (2, 1, 1, 1),
    ("imagenet", "bottleneck"): (2, 1, 1, 1),
}
BASIC, BOTTLENECK, IMAGENET_BASIC, IMAGENET_BOTTLENECK = SMALL

# one of each structure, and one of each kind of coefficients: structure, name, options
CASES = {
    "one-step": (BASIC, "preresnet20", {}),
    "fixed": (BASIC, "zerosnet20_opt", {}),
    "several-betas": (BASIC, "zerosnet20", {"scheme": "adams-bashforth(3)"}),
    "trained-lambda": (BASIC, "zerosnet20_tra", {}),
    "trained-k-and-restart": (BASIC, "lmresnet20", {}),
    "stable-roots": (BASIC, "zerosnet20_stable", {}),
    "stable-lambda-shared": (BASIC, "zerosnet20_stable", {"order": 2, "shared": True}),
    "shared-projections": (BASIC, "zerosnet20_opt", {"stage_change": "project-shared"}),
    "two-replicas": (BASIC, "zerosnet20", {"scheme": ["zerosnet(-9/5)", "zerosnet(10)"], "replicas": 2}),
    "two-replicas-stable": (BASIC, "zerosnet20_stable", {"replicas": 2}),
    "bottleneck": (BOTTLENECK, "zerosnet20_opt", {}),
    "imagenet-basic": (IMAGENET_BASIC, "zerosnet18_opt", {"num_classes": 10}),
    "imagenet-bottleneck": (IMAGENET_BOTTLENECK, "zerosnet18_tra", {"num_classes": 10}),
}
# their sums, in place, are those of other cases, so that it is enough to trace them
SAME_SUMS = ("one-step", "stable-lambda-shared", "shared-projections", "bottleneck", "imagenet-bottleneck")
FEW = ["several-betas", "stable-roots", "bottleneck", "imagenet-bottleneck"]  # test_export_model.py has replicas
REST_IS_SLOW = [pytest.param(case, marks=[] if case in FEW else pytest.mark.slow) for case in CASES]


def network(case: str) -> Network:
    key, name, options = CASES[case]
    config = replace(configure(name, **options), structure=Structure(*key, SMALL[key]))
    model = Network(config, seeds=list(range(config.replicas)))
    with torch.no_grad():  # running statistics that are not those of the start
        model(images(model, 8))
    return model


def images(model: Network, count: int = 3) -> torch.Tensor:
    shape = (count, model.replicas * model.in_chans, 32, 32)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count)).to(model.fc.weight.dtype)


def close(a: torch.Tensor, b: torch.Tensor, bound: float = 1e-5) -> bool:
    return a.shape == b.shape and (a - b).abs().max() <= bound * b.abs().max()


def gradients(model: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    output = model(x).flatten(0, -2)
    functional.cross_entropy(output, torch.arange(len(output)) % 10).backward()
    return [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("case", CASES)
def test_torch_export_keeps_the_outputs(case):
    model = network(case).eval()
    program = torch.export.export(model, (images(model),))
    with torch.no_grad():
        assert close(program.module()(images(model)), model(images(model)))


@pytest.mark.parametrize("case", REST_IS_SLOW)
def test_onnx_keeps_the_outputs(case, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model, path = network(case).eval(), tmp_path / "net.onnx"
    torch.onnx.export(model, (images(model),), path, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: images(model).numpy()})
    with torch.no_grad():
        expected = model(images(model)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("case", CASES)
def test_compiled_networks_have_no_breaks_and_the_same_gradients(case):
    torch._dynamo.reset()
    model = network(case).double()
    backend = "eager" if case in SAME_SUMS else "aot_eager"
    compiled = torch.compile(copy.deepcopy(model), backend=backend, fullgraph=True)
    for ours, theirs in zip(gradients(compiled, images(model)), gradients(model, images(model)), strict=True):
        assert close(ours, theirs, 1e-8)
    for ours, theirs in zip(compiled.buffers(), model.buffers(), strict=True):
        assert close(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fixed", "imagenet-bottleneck"])
def test_inductor_keeps_outputs_and_gradients(case):
    torch._dynamo.reset()
    model = network(case).double()
    compiled = torch.compile(copy.deepcopy(model), fullgraph=True)
    for ours, theirs in zip(gradients(compiled, images(model)), gradients(model, images(model)), strict=True):
        assert close(ours, theirs, 1e-8)
    with torch.no_grad():
        assert close(compiled.eval()(images(model)), model.eval()(images(model)), 1e-8)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("case", CASES)
def test_copies_compute_the_same_and_share_nothing(case, copied):
    model = network(case)
    model.conv_dtype = torch.float32
    other = copied(model)
    assert torch.equal(other(images(model)), model(images(model)))
    assert other.config == model.config
    assert other.schemes() == model.schemes()
    assert other.conv_dtype is torch.float32
    assert {p.data_ptr() for p in other.parameters()}.isdisjoint(p.data_ptr() for p in model.parameters())


@pytest.mark.parametrize("case", CASES)
def test_state_dicts_carry_everything(case, tmp_path):
    model = network(case).eval()
    torch.save(model.state_dict(), tmp_path / "net.pt")
    other = Network(model.config, seeds=[7] * model.replicas).eval()
    assert not torch.equal(other(images(model)), model(images(model)))
    other.load_state_dict(torch.load(tmp_path / "net.pt", weights_only=True))
    assert torch.equal(other(images(model)), model(images(model)))

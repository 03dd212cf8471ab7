"""Any residual network, advanced by a scheme: unchanged with Euler's, the recursion with others."""

import copy
import pickle
from collections import OrderedDict

import pytest
import torch
from tests.models.converted import Post, awake, chain, close, gradients, images, network, recursion, stages
from torch import Tensor, nn
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models import MultistepStage, create_model, multistep
from zerosnet.numerics import Scheme

timm = pytest.importorskip("timm")

# name -> options, image size, and where its steps are: x a step, . a block that changes the shape
NETWORKS = {
    "resnet18": ({}, 32, ["xx", ".x", ".x", ".x"]),
    "resnet26": ({}, 32, [".x", ".x", ".x", ".x"]),
    "resnet50": ({}, 32, [".xx", ".xxx", ".xxxxx", ".xx"]),
    "resnetv2_50": ({}, 32, [".xx", ".xxx", ".xxxxx", ".xx"]),
    "resnetv2_18": ({}, 32, ["xx", ".x", ".x", ".x"]),
    "convnext_atto": ({}, 32, ["xx", "xx", "xxxxxx", "xx"]),
    "convnext_tiny": ({}, 32, ["xxx", "xxx", "x" * 9, "xxx"]),
    "vit_tiny_patch16_224": ({"img_size": 32}, 32, ["x" * 12]),
    "swin_tiny_patch4_window7_224": ({"img_size": 56}, 56, ["xx", "xx", "xxxxxx", "xx"]),
    "efficientnet_b0": ({}, 32, [".x", ".x", ".xx", ".xx", ".xxx"]),
}
LIGHT = {"resnet26": ({}, 32), "convnext_atto": ({}, 32), "vit_tiny_patch16_224": ({"img_size": 32, "depth": 4}, 32)}
OPT = Scheme.parse("zerosnet(-9/5)")
SCHEMES = ["zerosnet(-9/5)", "leapfrog", "adams-bashforth(2)", "1/2,1/2;1,1/2", "1/2;3/4", "1;0,1"]


@pytest.mark.parametrize("name", NETWORKS)
def test_eulers_scheme_changes_nothing(name: str) -> None:
    options, size, steps = NETWORKS[name]
    model, x = awake(network(name, **options)), images(size)
    before = copy.deepcopy(model.state_dict())
    converted = multistep(model, "1;1")
    found = ["".join("x" if step else "." for step in stage.residual) for stage in stages(converted).values()]
    assert found == steps
    with torch.no_grad():
        y = model(x)
        size = y.abs().max()
        assert (converted(x) - y).abs().max() <= 1e-6 * min(1, size)
        assert (multistep(model, "1;1/2")(x) - y).abs().max() > 1e-2 * size, "f does not matter in this network"
    assert not stages(model)
    assert list(converted.state_dict()) == list(before)
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())
    assert {p.data_ptr() for p in converted.parameters()}.isdisjoint(p.data_ptr() for p in model.parameters())


@pytest.mark.parametrize("text", SCHEMES)
@pytest.mark.parametrize("training", [False, True])
def test_other_schemes_are_the_recursion_and_so_are_their_gradients(text: str, training: bool) -> None:
    plain, scheme, x = chain(5).train(training), Scheme.parse(text), images(8, 3, 4).requires_grad_()
    reference = copy.deepcopy(plain)
    converted = multistep(plain, scheme)
    assert isinstance(converted, MultistepStage)
    assert close([converted(x)], [recursion(copy.deepcopy(reference), scheme, x)])
    (ours,) = torch.autograd.grad(multistep(plain, scheme)(x).square().sum(), x)
    (theirs,) = torch.autograd.grad(recursion(reference, scheme, x).square().sum(), x)
    assert close([ours], [theirs])


def test_second_derivatives_are_right() -> None:
    converted = multistep(chain(4), "zerosnet(-9/5)").eval()
    for block in converted.children():
        block.forward = lambda y, conv=block.conv: y + torch.tanh(conv(y))  # smooth
    x = images(2, 1, 4).requires_grad_()
    assert torch.autograd.gradgradcheck(converted, (x,))


def test_the_history_restarts_where_the_shape_changes() -> None:
    torch.manual_seed(0)
    blocks = [Post(3, 4), Post(4), Post(4), Post(4, 6), Post(6), Post(6)]
    model, x = nn.Sequential(*blocks).double().eval(), images(8)
    scheme = Scheme.parse("1/2,1/2;5/4")
    converted = multistep(model, scheme)
    assert converted.residual == (False, True, True, False, True, True)
    middle = recursion(model[1:3], scheme, model[0](x))
    assert close([converted(x)], [recursion(model[4:], scheme, model[3](middle))])


@pytest.mark.parametrize(
    ("name", "scheme", "longest"), [("resnet18", "zerosnet(-9/5)", 2), ("resnet26", "1/2,1/2;3/2", 1)]
)
def test_a_scheme_that_no_stage_has_room_for_is_refused(name: str, scheme: str, longest: int) -> None:
    with pytest.raises(ValueError, match=f"the longest chain .* 'layer1', has {longest}"):
        multistep(network(name), scheme)


def test_stages_without_room_stay_as_they_are() -> None:
    assert list(stages(multistep(network("resnet50"), "zerosnet(-9/5)"))) == ["layer2", "layer3"]


@pytest.mark.parametrize("name", LIGHT)
def test_a_converted_network_trains_and_is_copied_pickled_saved_and_compiled(name: str, tmp_path) -> None:
    torch._dynamo.reset()
    options, size = LIGHT[name]
    scheme = "1/2;3/2" if name == "resnet26" else "1/4,3/4;7/4"
    model, x = multistep(network(name, **options), scheme).train(), images(size)
    expected = gradients(copy.deepcopy(model), x)
    assert len(expected) == len(list(model.parameters()))
    assert all(torch.isfinite(gradient).all() for gradient in expected)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert close(gradients(other, x), expected, 0)
    other = multistep(network(name, **options), scheme).train()
    other.load_state_dict(model.state_dict())
    assert close(gradients(torch.compile(other, backend="eager", fullgraph=True), x), expected)


@pytest.mark.parametrize("name", LIGHT)
def test_timms_methods_keep_working_after_conversion(name: str) -> None:
    options, size = LIGHT[name]
    scheme = "1/2;3/2" if name == "resnet26" else "1/4,3/4;7/4"
    model, x = multistep(network(name, **options), scheme), images(size)
    logits = model(x)
    features = model.forward_features(x)
    assert torch.equal(model.forward_head(features), logits)
    last, intermediates = model.forward_intermediates(x, indices=1)
    assert len(intermediates) == 1 and close([last], [features])
    model.reset_classifier(3)
    assert model.double()(x).shape == (2, 3)


@pytest.mark.parametrize("name", LIGHT)
def test_checkpointing_keeps_the_recursion_and_its_gradients(name: str) -> None:
    options, size = LIGHT[name]
    scheme = "1/2;3/2" if name == "resnet26" else "1/4,3/4;7/4,1/2"
    model, x = multistep(network(name, **options), scheme), images(size)
    expected = gradients(model, x)
    model.set_grad_checkpointing(True)
    assert close(gradients(model, x), expected)


def test_reentrant_checkpoints_would_lose_gradients_and_are_refused() -> None:
    from torch.utils.checkpoint import checkpoint

    y = images(8, 2, 4).requires_grad_()
    for step in multistep(chain(4), "1/4,3/4;7/4"):
        y = checkpoint(step, y, use_reentrant=True)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        y.sum().backward()


def test_parts_and_passes_of_a_stage() -> None:
    scheme, plain, x = Scheme.parse("zerosnet(-9/5)"), chain(6).eval(), images(8, 2, 4)
    stage = multistep(plain, scheme)
    assert isinstance(stage, MultistepStage)
    y = x
    for step in stage:
        y = step(y)
        assert isinstance(step.conv, nn.Conv2d)
    assert torch.equal(y, stage(x)) and len(stage) == 6
    assert close([stage[:4](x)], [recursion(plain[:4], scheme, x)])
    assert isinstance(stage[-1], Post)


def test_mixed_precision_keeps_the_wider_type() -> None:
    stage = multistep(chain(4).float().eval(), "1/4,3/4;7/4")
    x = images(8, 2, 4).float()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = stage(x)
    assert mixed.dtype is torch.float32
    assert close([mixed], [stage(x)], 0.05)


def test_export_keeps_the_outputs() -> None:
    model, x = multistep(awake(network("convnext_atto")), "1/4,3/4;7/4"), images(32)
    program = torch.export.export(model, (x,))
    assert close([program.module()(x)], [model(x)])


def test_hooks_and_modes_survive() -> None:
    model, seen = chain(3), []
    model.register_forward_hook(lambda module, args, output: seen.append(type(module)))
    model[1].eval()
    converted = multistep(model, "1/4,3/4;7/4")
    converted(images(8, 2, 4))
    assert [block.training for block in converted.children()] == [True, False, True]
    assert seen == [nn.Sequential, MultistepStage]  # from looking for the blocks, and from the call


def test_only_sums_with_the_input_are_steps() -> None:
    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, y: Tensor) -> Tensor:
            return functional.gelu(self.inner(y))

    class Residual(Mlp):
        def forward(self, y: Tensor) -> Tensor:
            return y + super().forward(y)

    class Shift(Mlp):
        def forward(self, y: Tensor) -> Tensor:
            return super().forward(y + 3)

    class Writing(Mlp):
        def forward(self, y: Tensor) -> Tensor:
            y = y.relu_()
            return y + super().forward(y)

    class Less(Mlp):
        def forward(self, y: Tensor) -> Tensor:
            return y - super().forward(y)

    class Negative(Mlp):
        def forward(self, y: Tensor) -> Tensor:
            return super().forward(y) - y

    children = [nn.Linear(3, 4), Residual(), Mlp(), nn.ReLU(), Residual(), Less(), Shift(), Writing(), Residual()]
    children.append(Negative())
    model = nn.Sequential(OrderedDict(zip("abcdefghij", children)))
    converted = multistep(model, "1/2,1/2;3/2")
    assert "".join("x" if step else "." for step in converted.residual) == ".x..xx..x."
    assert list(converted.state_dict()) == list(model.state_dict())


def test_torchvision_and_one_channel_are_served() -> None:
    torchvision = pytest.importorskip("torchvision")
    assert list(stages(multistep(torchvision.models.resnet18(), "1/2,1/2;3/2"))) == ["layer1"]
    vit = torchvision.models.VisionTransformer(32, 16, 4, 2, 16, 32)
    assert list(stages(multistep(vit, "zerosnet(-9/5)"))) == ["encoder.layers"]
    assert stages(multistep(timm.create_model("resnet18", in_chans=1), "1;1"))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: timm.create_model("vgg11"), "VGG has no residual blocks that can be found; expected an nn.Sequential"),
        (lambda: create_model("zerosnet20_opt"), "create_model takes a scheme"),
        (lambda: nn.Sequential(nn.ReLU()), "expected example="),
        (lambda: nn.Sequential(nn.Flatten(), nn.Conv2d(3, 3, 1)), "fails on an example of shape"),
        (lambda: "resnet18", "model is str"),
    ],
)
def test_a_network_that_cannot_be_converted_gives_an_error_of_one_line(model, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        multistep(model(), "1;1")
    assert "\n" not in str(error.value)


def test_a_bad_scheme_is_refused() -> None:
    with pytest.raises(InputError, match="scheme is 3"):
        multistep(chain(2), 3)  # type: ignore[arg-type]


def test_a_block_that_stands_several_times_stays_several_steps() -> None:
    (block,) = chain(1)
    tied = nn.Sequential(block, block, block, block)
    stage = multistep(tied, OPT, example=images(8, 2, 4))
    assert len(stage) == 4 and stage[0] is stage[3]
    x = images(8, 2, 4)
    torch.testing.assert_close(stage(x), recursion(tied, OPT, x))
    assert list(stage.state_dict()) == list(tied.state_dict())


def test_a_stage_that_stands_under_two_names_is_converted_under_both() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = self.second = chain(4)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x))

    model = Twice()
    converted = multistep(model, OPT, example=images(8, 2, 4))
    assert isinstance(converted.first, MultistepStage) and converted.first is converted.second
    x = images(8, 2, 4)
    torch.testing.assert_close(converted(x), recursion(model.first, OPT, recursion(model.first, OPT, x)))
    assert list(converted.state_dict()) == list(model.state_dict())

"""The authors' checkpoints: reproduced to rounding, or refused by name."""

import pytest
import safetensors.torch
import torch
from tests.models.authors import OPT, CifarZeroSNet, ImageNetNet, scramble
from tests.trap import Trap
from torch import nn

from zerosnet import InputError, Scheme
from zerosnet.models.io.official import load_official

LAMBDA_10 = Scheme.parse("0.825,-0.1,0.275;1.45")

# label -> (network, scheme to give, size of the images)
CASES = {
    "cifar-basic": (lambda: CifarZeroSNet(3), None, 32),
    "cifar-basic-of-unusual-depth": (lambda: CifarZeroSNet(2, num_classes=7), None, 16),
    "cifar-basic-grey": (lambda: CifarZeroSNet(3, in_chans=1, num_classes=100), None, 28),
    "cifar-basic-trained": (lambda: CifarZeroSNet(3, coefficients=None), None, 32),
    "cifar-basic-given": (lambda: CifarZeroSNet(3, coefficients=(0.825, -0.1, 0.275, 1.45)), LAMBDA_10, 32),
    "cifar-bottleneck": (lambda: CifarZeroSNet(3, bottleneck=True), None, 32),
    "cifar-bottleneck-trained": (lambda: CifarZeroSNet(4, bottleneck=True, coefficients=None), None, 32),
    "imagenet-18": (lambda: ImageNetNet((2, 2, 2, 2)), None, 64),
    "imagenet-18-trained": (lambda: ImageNetNet((2, 2, 2, 2), coefficients=None, num_classes=10), None, 64),
    "imagenet-bottleneck": (lambda: ImageNetNet((3, 2, 2, 2), bottleneck=True, num_classes=10), None, 64),
    "preact-18": (lambda: ImageNetNet((2, 2, 2, 2), preact=True), None, 64),
    "preact-bottleneck": (lambda: ImageNetNet((2, 2, 2, 2), preact=True, bottleneck=True), None, 64),
}


def images(network: nn.Module, size: int) -> torch.Tensor:
    return torch.randn(4, network.conv1.weight.shape[1], size, size, generator=torch.Generator().manual_seed(1))


def distance(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


@pytest.fixture(scope="module")
def small() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return scramble(CifarZeroSNet(2, coefficients=None)).state_dict()


def check(theirs: nn.Module, scheme: Scheme | None, size: int) -> None:
    """Both in float64, where only the structure can differ, and in float32 to 1e-5."""
    ours = load_official(theirs.state_dict(), scheme)
    x = images(theirs, size)
    for dtype, bound in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        for mode in ("eval", "train", "eval"):  # the last one with the statistics that the second one left
            pair = [network.to(dtype).train(mode == "train") for network in (ours, theirs)]
            with torch.no_grad():
                assert distance(*(network(x.to(dtype)) for network in pair)) < bound, mode
        ours = load_official(theirs.state_dict(), scheme)  # the two leave float32 with their own rounding


@pytest.mark.parametrize("case", CASES)
def test_outputs_and_running_statistics_are_the_authors(case):
    make, scheme, size = CASES[case]
    torch.manual_seed(0)
    check(scramble(make()), scheme, size)


@pytest.mark.slow
@pytest.mark.parametrize("preact", [False, True])
def test_outputs_of_50_layers_are_the_authors(preact):
    torch.manual_seed(0)
    check(scramble(ImageNetNet((3, 4, 6, 3), bottleneck=True, preact=preact)), None, 160)


@pytest.mark.parametrize("bottleneck", [False, True])
def test_gradients_are_the_authors(bottleneck):
    torch.manual_seed(0)
    theirs = scramble(CifarZeroSNet(2, coefficients=None, bottleneck=bottleneck))
    ours = load_official(theirs.state_dict())
    x = images(theirs, 16).double()
    for network in (ours.double(), theirs.double()):
        network(x).square().sum().backward()
    assert distance(ours.stem.conv.weight.grad, theirs.conv1.weight.grad) < 1e-10
    lambdas = torch.stack([block.coe.grad for block in theirs.blocks[2:]])
    assert distance(ours.stack.coefficients.values.grad, lambdas) < 1e-10


def test_unused_tensors_make_no_parameters():
    theirs = CifarZeroSNet(3)
    count = sum(p.numel() for p in load_official(theirs.state_dict()).parameters())
    assert count == sum(p.numel() for p in theirs.parameters()) - 1088


def test_bottleneck_checkpoints_need_no_projection_in_block_1():
    state = CifarZeroSNet(2, bottleneck=True).state_dict()
    del state["blocks.1.downsample_l.downsample_.0.weight"]
    assert load_official(state).config.structure.block == "bottleneck"


def test_depth_classes_channels_and_scheme_are_inferred():
    config = load_official(CifarZeroSNet(4, bottleneck=True, num_classes=5, in_chans=1).state_dict()).config
    assert (config.structure.depth, config.num_classes, config.in_chans) == (38, 5, 1)
    assert config.schemes[0].to_float() == Scheme(OPT[:3], OPT[3:])


@pytest.mark.parametrize("wrap", [lambda s: s, *(lambda s, w=w: {w: s, "epoch": 3} for w in ("state_dict", "net"))])
@pytest.mark.parametrize("prefix", ["", "module."])
def test_wrappers_and_prefixes_are_taken_off(small, wrap, prefix):
    network = load_official(wrap({prefix + name: tensor for name, tensor in small.items()}))
    assert torch.equal(network.fc.weight, small["fc.weight"])


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_files_are_read(tmp_path, small, suffix):
    path = tmp_path / f"net{suffix}"
    torch.save(small, path) if suffix == ".pt" else safetensors.torch.save_file(small, path)
    assert torch.equal(load_official(path).fc.weight, small["fc.weight"])
    assert torch.equal(load_official(str(path)).fc.weight, small["fc.weight"])


def test_code_in_files_is_never_run(tmp_path):
    mark, path = tmp_path / "ran", tmp_path / "net.pt"
    torch.save({"net": Trap(mark)}, path)
    with pytest.raises(InputError, match="never run"):
        load_official(path)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["net.pt", "net.safetensors"])
@pytest.mark.parametrize("content", [b"", b"no checkpoint", bytes(range(256)) * 9])
def test_damaged_files_are_refused_by_name(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        load_official(tmp_path / name)


def test_missing_files_are_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.pt"):
        load_official(tmp_path / "nowhere.pt")


@pytest.mark.parametrize(
    "name",
    ["fc.weight", "fc.bias", "conv1.weight", "bn.running_mean", "blocks.3.conv2.weight", "blocks.4.conv1.weight",
     "blocks.2.downsample_ll.downsample_.0.weight", "blocks.5.coe"],
)  # fmt: skip
def test_missing_tensors_are_named(small, name):
    with pytest.raises(InputError, match=f"lacks {name}"):
        load_official({key: tensor for key, tensor in small.items() if key != name})


def test_a_missing_block_is_named(small):
    with pytest.raises(InputError, match=r"lacks blocks\.3\.conv1\.weight"):
        load_official({name: tensor for name, tensor in small.items() if not name.startswith("blocks.3.")})


@pytest.mark.parametrize("name", ["fc2.weight", "blocks.3.se.weight", "blocks.1.downsample_l.downsample_.0.weight"])
def test_unexpected_tensors_are_named(small, name):
    with pytest.raises(InputError, match=name):
        load_official({**small, name: torch.zeros(1)})


def test_wrong_shapes_are_named(small):
    with pytest.raises(InputError, match=r"blocks\.2\.conv2\.weight has shape"):
        load_official({**small, "blocks.2.conv2.weight": torch.zeros(3, 3)})


@pytest.mark.parametrize(
    ("name", "tensor", "words"),
    [
        ("blocks.0.conv1.weight", torch.zeros(()), "4 dimensions"),
        ("conv1.weight", torch.zeros(16), "4 dimensions"),
        ("fc.weight", torch.zeros(()), "2 dimensions"),
        ("blocks.2.coe", torch.zeros(2), "one number"),
        ("fc.bias", torch.zeros(10, dtype=torch.int64), "torch.int64"),
        ("fc.bias", torch.zeros(10, dtype=torch.complex64), "torch.complex64"),
        ("module.fc.bias", torch.zeros(10), "both fc.bias and module.fc.bias"),
    ],
)
def test_odd_tensors_are_named(small, name, tensor, words):
    with pytest.raises(InputError, match=f"(?s){name}.*{words}|{words}"):
        load_official({**small, name: tensor})


def test_unused_lambdas_alone_are_no_trained_ones(small):
    unused = {name: tensor for name, tensor in small.items() if not name.endswith("coe") or name[7] in "01"}
    assert "blocks.0.coe" in unused
    assert load_official(unused).config.law is None


def test_a_scheme_beside_trained_lambdas_is_refused(small):
    with pytest.raises(InputError, match="trained lambdas"):
        load_official(small, "zerosnet(-9/5)")


def test_schemes_with_other_numbers_of_steps_are_refused():
    with pytest.raises(InputError, match="3 alphas"):
        load_official(CifarZeroSNet(2).state_dict(), "1;1")
    with pytest.raises(InputError, match="scheme is 3"):
        load_official(CifarZeroSNet(2).state_dict(), 3)


@pytest.mark.parametrize("checkpoint", [{}, {"net": 3}, {"fc.weight": torch.zeros(2, 2)}, {"a": "b"}])
def test_a_file_that_is_no_checkpoint_is_refused(checkpoint):
    with pytest.raises(InputError, match="checkpoint"):
        load_official(checkpoint)

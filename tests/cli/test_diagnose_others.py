"""`zerosnet diagnose` for networks of other packages."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch import nn

from zerosnet.cli.main import run
from zerosnet.cli.other_network import OtherNetwork, find_other
from zerosnet.errors import InputError
from zerosnet.models import diagnose

BUILDERS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU())

    def forward(self, y):
        return y + self.f(y)

def chain():
    return nn.Sequential(nn.Linear(5, 8), *(Block() for _ in range(3)), nn.Linear(8, 2))

def with_example():
    return chain(), torch.randn(7, 5)

def one():
    return nn.Sequential(nn.Linear(5, 8), Block(), nn.Linear(8, 2))

def no_blocks():
    return nn.Sequential(nn.Linear(5, 8), nn.Linear(8, 2))

def of_tokens():
    return nn.Sequential(nn.Embedding(9, 8), Block(), nn.Linear(8, 2))

def nothing():
    return 3

number = 3
built = chain()
"""


@pytest.fixture
def builders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "builders_of_networks.py").write_text(BUILDERS)
    monkeypatch.chdir(tmp_path)
    return "builders_of_networks"


def test_a_function_of_ones_own_is_diagnosed(builders: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", f"{builders}:chain", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [block["name"] for block in data["blocks"]] == ["1.f", "2.f", "3.f"]
    assert data["examples"] == 4


def test_a_network_that_is_built_already_is_diagnosed(builders: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", f"{builders}:built"]) == 0
    assert f"{builders}:built: effective depth" in capsys.readouterr().out


def test_blocks_may_be_named(builders: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", f"{builders}:chain", "--block", "1", "--block", "3", "--json"]) == 0
    assert [block["name"] for block in json.loads(capsys.readouterr().out)["blocks"]] == ["1.f", "3.f"]


def test_a_function_may_return_an_example_too(builders: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", f"{builders}:with_example"]) == 0
    printed = capsys.readouterr().out
    assert "of 3 blocks" in printed
    assert "on 7 examples of its own" in printed
    assert "2.f" in printed


@pytest.mark.parametrize(("width", "left_out"), [(80, False), (60, True)])
def test_names_of_blocks_stay_whole_on_narrow_screens(
    width: int, left_out: bool, builders: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["diagnose", f"{builders}:chain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if ".f " in line] == ["1.f", "2.f", "3.f"]
    assert any(line.startswith("every block keeps 1") for line in lines)
    assert any(line.startswith("left out on a screen of 60 columns: ±") for line in lines) is left_out
    assert max(map(len, lines)) <= width


def test_the_picture_is_drawn(builders: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", f"{builders}:chain", "--plot", "chain.svg"]) == 0
    assert "effective depth" in Path("chain.svg").read_text()


def test_networks_of_timm_and_torchvision_are_diagnosed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    for name, first in (("timm:resnet18", "layer1.0"), ("torchvision:resnet18", "layer1.0.bn2")):
        assert run(["diagnose", name, "--images", "2", "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert len(data["blocks"]) == 8
        assert data["blocks"][0]["name"].startswith(first)


@pytest.mark.parametrize(("kind", "streams"), [("llama", 1), ("mixtral", 1), ("qwen2_moe", 1), ("deepseek_v4", 4)])
def test_types_that_are_too_large_are_cut_and_the_output_tells_so(
    kind: str, streams: int, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind not in pytest.importorskip("transformers").CONFIG_MAPPING:
        pytest.skip(f"transformers has no {kind}")
    subject = find_other(f"transformers:{kind}", seed=0)
    assert subject.label.startswith(f"transformers:{kind}, cut to 6 layers of width 256 (")
    assert subject.label.endswith("parameters, more than 1e+09)")
    assert sum(p.numel() for p in subject.model.parameters()) < 1e8
    found = diagnose(subject.model, subject.batch(2, 0))
    assert (len(found.blocks), found.wiring.streams) == (12, streams)


@pytest.mark.parametrize("kind", ["vit", "beit"])
def test_transformers_of_images_get_images_of_their_size(kind: str) -> None:
    pytest.importorskip("transformers")
    subject = find_other(f"transformers:{kind}", seed=0)
    assert subject.batch(2, 0).shape == (2, 3, 224, 224)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("clip", "expected one of them: transformers:clip_vision_model or transformers:clip_text_model"),
        ("siglip_text_model", "names a part that AutoModel does not build"),
    ],
)
def test_types_without_one_network_of_their_own_are_refused(kind: str, message: str) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match=message):
        find_other(f"transformers:{kind}", seed=0)


@pytest.mark.parametrize(("size", "shape"), [(12, (12, 12)), ([12, 16], (12, 16))])
def test_images_have_the_size_of_the_configuration(size: int | list[int], shape: tuple[int, int]) -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3))
    model.config = SimpleNamespace(image_size=size, vocab_size=9)
    model.main_input_name = "pixel_values"
    assert OtherNetwork(model, "stub").batch(2, 0).shape == (2, 3, *shape)


def test_weights_of_a_backbone_are_not_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision.models import WeightsEnum

    def refuse(weights: WeightsEnum, *args: object, **kwargs: object) -> None:
        raise AssertionError(f"{weights} would be downloaded")

    monkeypatch.setattr(WeightsEnum, "get_state_dict", refuse)
    assert find_other("torchvision:lraspp_mobilenet_v3_large", seed=0).example is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["timm:resnet19"], "timm has no network 'resnet19'"),
        (["torchvision:resnet19"], "torchvision has no network 'resnet19'"),
        (["builders_of_networks:missing"], "cannot be found"),
        (["no_such_package.module:f"], "cannot be found"),
        (["builders_of_networks:nothing"], "returns int; expected a torch.nn.Module"),
        (["builders_of_networks:number"], "is int; expected a function"),
        (["builders_of_networks:of_tokens"], "Sequential fails on noise of shape (2, 8), which was guessed"),
        (["builders_of_networks.py:chain"], "names a file; leave out .py: builders_of_networks:chain"),
        (["os.path:join"], "os.path:join cannot be called without arguments"),
        (["builders_of_networks:with_example", "--images", "3"], "brings an example of its own; leave --images out"),
        (["timm:"], "timm:NAME, torchvision:NAME, transformers:TYPE, or package.module:function"),
        (["builders_of_networks"], "timm:NAME, torchvision:NAME, transformers:TYPE, or package.module:function"),
        (
            ["builders_of_networks:no_blocks"],
            "expected sums of a state and a branch, or names of modules (blocks=, in the shell --block)",
        ),
        (["builders_of_networks:chain", "--block", "9"], "blocks has '9'; expected names of modules that the network"),
        (["zerosnet20_opt", "--block", "1"], "--block is given for zerosnet20_opt, whose blocks are known"),
        (["timm:resnet18", "--dataset", "digits"], "--dataset is given for timm:resnet18, a network from outside"),
        (["timm:resnet18", "--images", "1"], "--images is 1; expected 2 or more"),
    ],
)
def test_what_is_not_there_is_one_line(builders: str, arguments: list[str], message: str, refused) -> None:
    refused(["diagnose", *arguments], message)


def test_names_are_printed_as_they_are(builders: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", f"{builders}:one"]) == 0
    assert capsys.readouterr().out.startswith(f"{builders}:one: effective depth"), ":one: is no picture"


@pytest.mark.parametrize("name", ["streams20", "preresnet20_x0"])
def test_our_own_networks_of_streams_are_diagnosed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", name, "--images", "4"]) == 0
    printed = capsys.readouterr().out
    assert "of 9 blocks" in printed and "streams, mixing fixed" in printed and "batch statistics" in printed
    assert run(["diagnose", name, "--dataset", "digits", "--images", "4", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["blocks"]) == 9
    assert run(["diagnose", name, "--dataset", "digits", "--depth"]) == 2
    assert "several streams" in capsys.readouterr().err

"""`zerosnet export`, as a user calls it."""

import json
from functools import partial
from pathlib import Path

import pytest
import torch

from zerosnet.environment import environment
from zerosnet.models import create_model, from_pretrained, save_model, save_pretrained
from zerosnet.training import Result, RunSpec, Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one finished run and one that was stopped."""
    folder = tmp_path_factory.mktemp("store")
    for seed in (1, 2):
        spec = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": seed})
        with Store(folder).claim(spec) as claimed:
            claimed.write_environment(environment())
            if seed == 1:
                model = create_model("zerosnet20_opt", in_chans=1, seed=1)
                result = Result("finished", 5, 1.0, test_accuracy=0.75, best_epoch=4, best_test_accuracy=0.875)
                claimed.finish(result, partial(save_model, model, facts={"run": spec.id, **spec.to_json()}))
    return folder


def test_a_run_is_exported_for_its_own_images(call, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    code, out, err = call("export", "s1-", "--store", store, "-o", path, "--json")
    assert code == 0, err
    written = json.loads(out)
    assert written["input"] == ["batch", 1, 8, 8] and written["logits"] == ["batch", 10]
    assert written["largest_difference"] < 1e-5 and written["bytes"] == path.stat().st_size
    assert torch.export.load(path).module()(torch.zeros(4, 1, 8, 8)).shape == (4, 10)


def test_without_a_file_its_name_is_that_of_the_network(call, store: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for form, name in (("torch-export", "s1-.pt2"), ("hub", "s1--hub")):
        code, out, err = call("export", "s1-", "--store", store, "--format", form)
        assert code == 0, err
        assert out.startswith(f"{name}: ") and (tmp_path / name).exists()


def test_a_weights_file_of_a_run_becomes_onnx(call, store: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    (weights,) = store.glob("*/weights.safetensors")
    code, out, err = call("export", weights, "--format", "onnx", "-o", tmp_path / "net.onnx")
    assert code == 0, err
    assert "(batch, 1, 8, 8) to (batch, 10)" in out and "differ from the network's by at most" in out
    assert (tmp_path / "net.onnx").stat().st_size > 1e6


@pytest.mark.parametrize("by", ["id", "folder"])
def test_a_run_goes_to_the_hub_with_its_card(call, store: Path, tmp_path: Path, by: str) -> None:
    (weights,) = store.glob("*/weights.safetensors")
    name = weights.parent.name if by == "id" else weights.parent
    code, out, err = call("export", name, "--store", store, "--format", "hub", "-o", tmp_path / "net")
    assert code == 0, err
    assert "by at most 0.0e+00" in out
    card = (tmp_path / "net" / "README.md").read_text()
    for part in ("| test, best epoch | 87.50 % |", "zerosnet train zerosnet20_opt --dataset digits", "| epochs |"):
        assert part in card
    assert "mean (0.3051), deviation (0.3759)" in card and "(B, 1, 8, 8)" in card
    assert from_pretrained(tmp_path / "net").config.name == "zerosnet20_opt"


def test_names_and_hub_folders_are_exported_too(call, tmp_path: Path) -> None:
    save_pretrained(create_model("preresnet20", seed=3), tmp_path / "net")
    code, out, err = call("export", tmp_path / "net", "-o", tmp_path / "copy")  # a folder: hub
    assert code == 0, err
    one, two = (from_pretrained(tmp_path / name).state_dict() for name in ("net", "copy"))
    assert all(torch.equal(one[key], two[key]) for key in one)
    arguments = ("zerosnet20", "--scheme", "zerosnet(10)", "--format", "hub", "-o", tmp_path / "named")
    code, out, err = call("export", *arguments)
    assert code == 0, err
    assert "untrained zerosnet20" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--format", "onnx", "-o", "n.onnx"], "no network called 'nowhere'; expected a run in store"),
        (["nowhere.safetensors", "--format", "onnx", "-o", "n.onnx"], "is no file"),
        (["zerosnet20_opt", "--format", "tflite", "-o", "n.tflite"], "expected one of onnx, torch-export, hub"),
        (["zerosnet20_opt", "--format", "onnx", "-o", "n.pt2"], "ends in .onnx"),
        (["zerosnet20", "--format", "onnx", "-o", "n.onnx"], "needs a scheme"),
        (["s1-", "--scheme", "leapfrog", "--format", "onnx", "-o", "n.onnx"], "--scheme is 'leapfrog'"),
        (["zerosnet20_opt", "--format", "hub", "-o", "net", "--size", "28"], "--size is 28"),
        (["s2-", "--format", "onnx", "-o", "n.onnx"], "is stopped; expected a finished one"),
        (["zerosnet20_opt"], "neither --format nor --output is given"),
        (["zerosnet20_opt", "--format", "tflite"], "expected one of onnx, torch-export, hub"),
        (["zerosnet20_opt", "-o", "n.tflite"], "expected FILE.onnx, FILE.pt2 or a folder, or --format"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    refused, store: Path, monkeypatch, tmp_path: Path, arguments, message
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(["export", *map(str, arguments), "--store", str(store)], message)
    assert not list(tmp_path.iterdir())

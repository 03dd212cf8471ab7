"""Files for other run times: equal to the network, or not there."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from zerosnet.errors import InputError, MissingExtra
from zerosnet.models import Network, Structure, configure, export_model
from zerosnet.models.io import export as exporting

CASES = {
    "fixed": ("zerosnet20_opt", {}),
    "trained": ("zerosnet20_tra", {}),
    "replicas": ("zerosnet20", {"scheme": ["zerosnet(-9/5)", "zerosnet(10)"], "replicas": 2, "in_chans": 1}),
}


def network(case: str) -> Network:
    name, options = CASES[case]
    config = replace(configure(name, **options), structure=Structure("cifar", "basic", (2, 1, 1)))
    return Network(config, seeds=list(range(config.replicas)))


@pytest.mark.parametrize(
    ("case", "size"),
    [("fixed", (20, 12)), ("trained", None), pytest.param("replicas", None, marks=pytest.mark.slow)],
)
def test_a_program_is_the_network_for_any_batch(case: str, size: tuple[int, int] | None, tmp_path: Path) -> None:
    model, path = network(case), tmp_path / "deep" / "net.pt2"
    model.conv_dtype = torch.bfloat16
    assert export_model(model, path, "torch-export", size=size) < 1e-6
    assert [file.name for file in path.parent.iterdir()] == ["net.pt2"]
    assert model.training and model.conv_dtype is torch.bfloat16
    images = torch.randn(7, model.replicas * model.in_chans, *(size or (32, 32)))
    model.conv_dtype = None
    torch.testing.assert_close(torch.export.load(path).module()(images), model.eval()(images))


def test_a_program_of_a_network_without_pool_gives_its_feature_map(tmp_path: Path) -> None:
    model, path, images = network("fixed"), tmp_path / "net.pt2", torch.randn(2, 3, 8, 8)
    model.reset_classifier(0, "")
    export_model(model, path, "torch-export", size=(8, 8))
    torch.testing.assert_close(torch.export.load(path).module()(images), model.eval()(images))


@pytest.mark.parametrize("case", [pytest.param("fixed", marks=pytest.mark.slow), "replicas"])
def test_an_onnx_file_is_the_network_for_any_batch(case: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model, path = network(case), tmp_path / "net.onnx"
    assert export_model(model, path, "onnx", size=(8, 8)) < 1e-5
    assert [file.name for file in tmp_path.iterdir()] == ["net.onnx"]  # no file of weights beside it
    images = torch.randn(7, model.replicas * model.in_chans, 8, 8)
    found = onnxruntime.InferenceSession(path).run(["logits"], {"images": images.numpy()})[0]
    torch.testing.assert_close(torch.from_numpy(found), model.eval()(images), rtol=1e-4, atol=1e-5)


def test_a_file_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = exporting.FORMATS["torch-export"]
    wrong = replace(form, run=lambda path, images: form.run(path, images) * 1.001)
    monkeypatch.setitem(exporting.FORMATS, "torch-export", wrong)
    path = tmp_path / "net.pt2"
    path.write_text("what was there before")
    with pytest.raises(RuntimeError, match=r"differs from the network by 1\.0e-03"):
        export_model(network("fixed"), path, "torch-export", size=(8, 8))
    assert path.read_text() == "what was there before"
    assert len(list(tmp_path.iterdir())) == 1


def test_bad_requests_are_refused_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = network("fixed")
    with pytest.raises(InputError, match="format is 'tflite'; expected one of onnx, torch-export"):
        export_model(model, "net.tflite", "tflite")
    with pytest.raises(InputError, match=r"expected a file that ends in \.pt2"):
        export_model(model, "net.onnx", "torch-export")
    with pytest.raises(InputError, match="model is Linear"):
        export_model(torch.nn.Linear(2, 2), tmp_path / "net.pt2", "torch-export")
    monkeypatch.setattr(exporting, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"onnx is not installed; .*zerosnet\[export\]"):
        export_model(model, tmp_path / "net.onnx", "onnx")

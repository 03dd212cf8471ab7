import pytest
import torch
from benchmarks.imagenet import run


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_the_benchmark_is_skipped_where_there_is_no_gpu():
    assert run() == {"skipped": "no CUDA device"}


def test_the_benchmark_measures_compute_loader_and_training_beside_each_other(monkeypatch):
    monkeypatch.delenv("ZEROSNET_IMAGES", raising=False)
    found = run("cpu", depth=34, batch=4, side=32, rounds=1, seconds=0.1, files=12, workers=0)
    names = ["timm resnet34", "preresnet34", "zerosnet34_opt", "zerosnet34_opt, history restarted"]
    assert list(found["compute"]) == names and all(rate > 0 for rate in found["compute"].values())
    (source,) = found["sources"]
    assert "500 x 375 pixels" in source["source"] and source["loader"] > 0
    for name in names[1:3]:
        assert source[f"{name}, end to end / compute"] == pytest.approx(source[name] / found["compute"][name])
    ratio = found["compute"]["zerosnet34_opt"] / found["compute"]["preresnet34"]
    assert found["ratios"]["zerosnet / preresnet"] == pytest.approx(ratio)

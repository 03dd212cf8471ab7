import benchmarks.decode
import benchmarks.imagenet
import pytest
import torch
from benchmarks.__main__ import main
from benchmarks.imagenet import run, settings_of

from zerosnet.experiments import EXPERIMENTS

SMALL = {"device": "cpu", "depth": 34, "batch": 4, "side": 32, "rounds": 1, "seconds": 0.1, "files": 12, "workers": 0}
NAMES = ["timm resnet34", "preresnet34", "zerosnet34_opt", "zerosnet34_opt, history restarted"]


@pytest.fixture
def quick_steps(monkeypatch):
    """Steps that compute nothing, for tests of what is done with their times."""
    monkeypatch.setattr(benchmarks.imagenet, "_step", lambda *_: lambda: None)


@pytest.fixture(autouse=True)
def no_other_folder(monkeypatch):
    monkeypatch.delenv("ZEROSNET_IMAGES", raising=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_the_benchmark_is_skipped_without_a_gpu():
    assert run() == {"skipped": "no CUDA device"}


def test_the_benchmark_measures_compute_loader_and_training_beside_each_other():
    *_, found = run(**SMALL)
    assert list(found["compute"]) == NAMES and all(rate > 0 for rate in found["compute"].values())
    (source,) = found["sources"]
    assert "500 x 375 pixels" in source["source"]
    for name in NAMES[1:3]:
        assert source[f"{name}, end to end / compute"] == pytest.approx(source[name] / found["compute"][name])
    ratio = found["compute"]["zerosnet34_opt"] / found["compute"]["preresnet34"]
    assert found["ratios"]["zerosnet / preresnet"] == pytest.approx(ratio)
    networks = found["networks"]
    assert networks["preresnet34"]["products"] < networks["zerosnet34_opt"]["products"]
    assert networks["zerosnet34_opt, history restarted"]["products"] == networks["preresnet34"]["products"]
    assert "left_out" not in found and not any("decoded by" in key for key in source)


def test_decoders_are_compared_with_networks_of_50_layers(monkeypatch):
    monkeypatch.setattr(benchmarks.imagenet, "_compute", lambda *_: {"compute": {"preresnet50": 8.0}})
    monkeypatch.setattr(
        benchmarks.imagenet, "_end_to_end", lambda *arguments: {"workers": 7.0, "gpu": 5.0}[arguments[-1]]
    )
    *_, found = run(**SMALL | {"depth": 50})
    (source,) = found["sources"]
    assert source["difference"] == 0  # here it is one decoder
    assert source["loader, decoded by the GPU"] > 0 and source["preresnet50, end to end / compute"] == 7 / 8
    assert source["preresnet50, decoded by the GPU, end to end / compute"] == 5 / 8
    loader = source["loader, decoded by workers"]
    assert source["preresnet50, end to end / loader"] == pytest.approx(7 / loader)


def test_other_depths_are_measured_at_the_batch_of_the_paper(monkeypatch):
    specs = {spec.model: spec.recipe.batch for spec in EXPERIMENTS["table-imagenet"].specs("full")}
    for only in ("18", "34", "50"):
        settings = settings_of(only)
        assert (settings.depth, settings.batch) == (int(only), specs[f"preresnet{only}"])
    with pytest.raises(SystemExit, match="18, 34, 50"):
        settings_of("101")
    asked = []
    monkeypatch.setattr(benchmarks.imagenet, "run", lambda *only: asked.append(only) or {"skipped": "here"})
    assert main(["imagenet", "--only", "18"]) == main(["imagenet"]) == 0
    assert asked == [("18",), ()]


@pytest.mark.usefixtures("quick_steps")
def test_a_failing_case_is_named_and_the_rest_is_measured(monkeypatch):
    def fails(*_):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(benchmarks.imagenet, "_end_to_end", fails)
    *_, found = run(**SMALL | {"depth": 18})
    assert [what.partition(", ")[0] for what in found["left_out"]] == ["preresnet18", "zerosnet18_opt"]
    assert set(found["left_out"].values()) == {"RuntimeError: no such luck"} and len(found["compute"]) == 3


def test_nothing_is_begun_when_the_time_is_over(monkeypatch):
    monkeypatch.setattr(benchmarks.imagenet, "TIME_LIMIT", -1)
    *_, found = run(**SMALL)
    assert set(found["left_out"].values()) == {"no time left"} and "compute" not in found


def test_the_parts_of_a_workers_work_are_measured():
    found = benchmarks.decode.run(files=4, rounds=1)
    times = found["milliseconds"]
    assert found["files"] == 4 and len(times) == 4 and all(time > 0 for time in times.values())

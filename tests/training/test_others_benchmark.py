"""The benchmarks of networks without kernels of our own, and of several streams, small and on the CPU."""

import json

import pytest
import torch
from benchmarks import others, streams
from benchmarks.others import CASES, on
from benchmarks.training import Case

CPU = torch.device("cpu")
SMALL = {"cifar10": 8, "mnist": 8}


def test_bottlenecks_and_mnist_go_through_the_whole_engine():
    cases = [Case("torch", 164, 1, 2, 1, None, compiled=False), Case("torch", 56, 2, 2, 1, None, dataset="mnist")]
    (first, second, whole) = on(CPU, cases, images=256, sizes=SMALL)
    names = ["164 layers, K=1, torch, eager", "56 layers, K=2, torch, mnist"]
    assert [row["case"] for row in whole["rows"]] == names and second == whole and first["rows"] == whole["rows"][:1]
    assert all(row["seconds_per_epoch"] > 256 / 128 * row["step_ms"] / 1e3 for row in whole["rows"])
    assert list(on(CPU, cases, whole)) == [whole] == [json.loads(json.dumps(whole))]


def test_short_epochs_are_scaled_to_all_images():
    row = {"seconds_per_epoch": 2.0, "seconds_per_epoch_and_network": 1.0, "step_ms": 3.0}
    scaled = others.whole_epoch(Case("torch", 56, 2, 2, 1, None, dataset="mnist"), row, 6_000)
    assert (scaled["seconds_per_epoch"], scaled["seconds_per_epoch_and_network"], scaled["step_ms"]) == (20, 10, 3)
    assert scaled["dataset"] == "mnist" and not scaled["eager"]


def test_what_does_not_fit_or_fails_is_left_out(monkeypatch, capsys):
    def fail(case, device, data):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(others, "measure", fail)
    monkeypatch.setattr(others, "synthetic", lambda *given: None)
    monkeypatch.setattr(others, "TIME_LIMIT", 50)
    (whole,) = on(CPU)
    late = [case.name for case in CASES if case.seconds_needed > 50]
    assert [name for name, why in whole["left_out"].items() if why == "no time left"] == late and late
    assert set(whole["left_out"].values()) == {"no time left", "RuntimeError: out of memory"}


def test_networks_of_streams_go_through_the_whole_engine():
    cases = [Case("torch", 20, 2, 2, 1, None, compiled=False, model=kind) for kind in streams.KINDS]
    *_, whole = on(CPU, cases, images=256, sizes=SMALL)
    kinds = ("streams", "streams_sinkhorn", "preresnet_x0")
    assert [row["case"] for row in whole["rows"]] == [f"20 layers, K=2, torch, {kind}, eager" for kind in kinds]
    assert "left_out" not in whole


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_nothing_is_timed_without_a_gpu():
    assert others.run() == streams.run() == {"skipped": "no CUDA device"}

"""The benchmark of noises and attacks runs, and its two ways agree."""

import json
from pathlib import Path

import pytest
import torch
from benchmarks import robustness

from zerosnet.robustness import CORRUPTIONS, pgd
from zerosnet.robustness.perturbations import corruptions
from zerosnet.training import Store


def test_fused_and_one_by_one_are_timed_and_agree(monkeypatch):
    monkeypatch.setattr(corruptions, "CORRUPTIONS", {"fog": CORRUPTIONS["fog"]})
    few = ("noises", "pgd-20", "corruptions")
    measured = robustness.run("cpu", depth=20, images=4, replicas=2, attack=pgd(8 / 255, 2), what=few)
    assert json.loads(json.dumps(measured)) == measured
    assert {f"{what}, {way}" for what in few for way in ("fused", "one by one")} <= set(measured["seconds"])
    assert measured["agreement"] == dict.fromkeys(few, 1.0) and measured["corruption_settings"] == 5
    assert [len(of) for of in measured["accuracy"].values()] == [2, 2, 2]


def test_a_store_with_too_few_networks_is_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="has 0 finished zerosnet56 on cifar10, recipe paper, seed 1; expected 10"):
        robustness.trained(Store(tmp_path), tmp_path, 56, 10, 10, torch.device("cpu"))

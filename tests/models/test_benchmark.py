"""The benchmark of the networks runs, and measures what it says."""

import json

import pytest
import torch
from benchmarks import models
from benchmarks.plain import PlainZeroSNet
from benchmarks.steps import peak_bytes, race, saved_bytes, test_step
from torch import nn

from zerosnet.models import create_model


@pytest.fixture(scope="module")
def measured():
    return models.run("cpu", depths=(20,), batches=(2,), rounds=2, size=8)


def test_every_depth_mode_and_batch_has_its_row(measured):
    assert [(row["depth"], row["mode"], row["batch"]) for row in measured["rows"]] == [
        (20, "training", 2),
        (20, "test", 2),
    ]
    assert json.loads(json.dumps(measured)) == measured
    for row in measured["rows"]:
        assert min(row["preresnet_ms"], row["zerosnet_ms"], row["ratio"], row["preresnet_mib"]) > 0


def test_the_plain_network_is_timed_beside_ours(measured):
    assert measured["plain"]["depth"] == 32
    assert measured["plain"]["ratio"] > 0


def test_the_papers_ratios_are_those_of_its_table():
    rounded = {mode: [round(r, 3) for r in ratios.values()] for mode, ratios in models.PAPER_RATIOS.items()}
    assert rounded == {"training": [1.085, 1.000, 1.016], "test": [1.063, 1.021, 1.038]}


def test_the_plain_network_has_the_parameters_of_ours():
    plain, ours = PlainZeroSNet(32), create_model("zerosnet32_opt")
    assert sum(p.numel() for p in plain.parameters()) == sum(p.numel() for p in ours.parameters())


def test_a_race_knows_the_slower_one():
    small, large = torch.randn(20, 20), torch.randn(400, 400)
    found = race(lambda: small @ small, lambda: [large @ large for _ in range(5)], rounds=5, device="cpu")
    assert found.ratio > 1
    assert found.ratio_of_best > 1


def test_saved_bytes_counts_every_storage_once():
    x = torch.randn(4, 10)
    model = nn.Sequential(nn.Sigmoid(), nn.Sigmoid(), nn.Linear(10, 3))
    # the two results of the sigmoids; the linear layer saves the second one again, and its own weight
    assert saved_bytes(model, x.requires_grad_()) == 2 * x.numel() * 4


def test_peak_bytes_at_test_is_what_is_alive_at_once():
    x = torch.randn(4, 1000)
    model = nn.Sequential(nn.Sigmoid(), nn.Sigmoid(), nn.Sigmoid())
    assert peak_bytes(model, test_step(model, x), "cpu") == 2 * x.numel() * 4  # one is made from the other

import json

import pytest
import torch
from tests.experiments.conftest import TINY
from tests.read_only import read_only

from zerosnet.data import gather, pixel_statistics
from zerosnet.data.for_test import load_for_test
from zerosnet.errors import InputError
from zerosnet.experiments import Ablation, ablation, read_ablation, reproduce
from zerosnet.models import diagnose
from zerosnet.training import Options, Store, train
from zerosnet.training.finished.networks import load_network


def curve(*accuracies: float) -> Ablation:
    return Ablation("run", 100, 0.95, accuracies, (0.1,) * len(accuracies), 3)


@pytest.mark.parametrize(
    ("accuracies", "used"),
    [((0.1, 0.5, 0.945, 0.95, 0.95), 2), ((0.1, 0.95, 0.3, 0.95), 3), ((0.1, 0.2, 0.3), 3), ((0.95, 0.95), 0)],
)
def test_used_blocks_are_the_fewest_that_reach_the_whole_accuracy_and_keep_it(accuracies, used):
    assert curve(*accuracies).used_blocks == used


def test_the_curve_ends_with_the_whole_network():
    one = curve(0.1, 0.2, 0.3)
    assert one.curve == (0.1, 0.2, 0.3, 0.95) and len(one.curve) == one.blocks + 1
    assert Ablation.from_json(one.to_json()) == one


def test_fused_networks_are_ablated_as_each_alone_is_diagnosed(small, few_digits, tmp_path):
    store = Store(tmp_path / "runs")
    reproduce([small], TINY, store, Options("cpu"))
    data = load_for_test("digits")
    scale = (torch.tensor(values) for values in pixel_statistics(data, small.specs(TINY)[0].recipe.scaling))
    images = gather(data.test.images, torch.arange(len(data.test))[None], None, None, None, *scale)
    for record in store.records():
        found = read_ablation(record)
        alone = diagnose(load_network(record), images, data.test.labels)
        assert found.images == len(data.test) == 24 and found.convolutions == "float32"
        assert found.accuracy == pytest.approx(alone.accuracy)
        assert found.accuracy_without == pytest.approx([block.accuracy_without for block in alone.blocks])
        assert found.ratios == pytest.approx([block.ratio for block in alone.blocks], rel=1e-4)
        assert found.effective_depth == alone.blocks_above()
        written = json.loads((record.folder / "ablation.json").read_text())
        assert written["device"] == "cpu" and written["environment"]["packages"]["torch"] and written["seconds"] > 0


def test_a_network_has_the_same_curve_to_the_bit_alone_and_among_others(small, few_digits, tmp_path, monkeypatch):
    store = Store(tmp_path / "runs")
    monkeypatch.setattr("zerosnet.experiments.runner.cores", lambda: 2)
    monkeypatch.setattr("zerosnet.experiments.ablation.cores", lambda: 1)  # one worker, so that both are fused
    reproduce([small], TINY, store, Options("cpu"))
    for record in store.records():
        among_others = read_ablation(record)
        (record.folder / "ablation.json").unlink()
        ablation.ablate([record], torch.device("cpu"))
        assert read_ablation(record) == among_others


def test_a_store_that_cannot_be_written_is_refused_before_data_are_loaded(small, few_digits, tmp_path, monkeypatch):
    store, cpu = Store(tmp_path), torch.device("cpu")
    train(small.specs(TINY)[:1], store, Options("cpu"))
    monkeypatch.setattr(ablation, "load_for_test", None)
    with read_only(tmp_path), pytest.raises(InputError, match="cannot be written"):
        ablation.ablate(store.records(), cpu)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_finds_nearly_the_same_curve(small, few_digits, tmp_path):
    store = Store(tmp_path / "runs")
    reproduce([small], TINY, store, Options("cpu"))
    expected = {record.id: read_ablation(record) for record in store.records()}
    for record in store.records():
        (record.folder / "ablation.json").unlink()
    ablation.ablate(store.records(), torch.device("cuda"))
    for record in store.records():
        found, before = read_ablation(record), expected[record.id]
        assert found.convolutions == "bfloat16" and found.images == before.images
        assert found.accuracy_without == pytest.approx(before.accuracy_without, abs=3 / 24)
        assert found.ratios == pytest.approx(before.ratios, rel=0.05)

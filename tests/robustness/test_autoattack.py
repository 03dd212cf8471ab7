"""AutoAttack through its adapter, with the package or with a stand-in."""

import sys
import types

import pytest
import torch
from tests.robustness.attackable import small_convolution

from zerosnet.errors import InputError
from zerosnet.robustness import Normalised, run_protocol, subject


def test_the_error_about_missing_autoattack_has_its_install_command(networks, pair, monkeypatch):
    for package in ("autoattack", "pyautoattack"):
        monkeypatch.setitem(sys.modules, package, None)
    one = subject(Normalised(networks[0], (0.3,), (0.4,)), pair.images, pair.labels)
    with pytest.raises(InputError, match=r"AutoAttack is not installed; .*pip install pyautoattack"):
        run_protocol("autoattack", one)


def test_autoattack_is_called_with_images_of_the_unit_interval_and_judged_here(networks, pair, monkeypatch):
    calls = []

    class AutoAttack:
        def __init__(self, model, **settings):
            calls.append(settings)

        def run_standard_evaluation(self, images, labels, bs):
            assert images.min() >= 0 and images.max() <= 1 and bs >= len(labels)
            return torch.zeros_like(images)

    monkeypatch.setitem(sys.modules, "autoattack", types.SimpleNamespace(AutoAttack=AutoAttack))
    one = subject(Normalised(networks[0], (0.3,), (0.4,)), pair.images, pair.labels)
    (result,) = run_protocol("autoattack", one)
    (row,) = (row for row in result.rows if row.method == "autoattack")
    assert calls[0]["norm"] == "Linf" and calls[0]["eps"] == row.eps == 8 / 255
    black = one.model(torch.zeros(1, 1, 8, 8)).argmax()
    assert row.correct == int((pair.labels == black).sum())


def test_autoattack_on_too_few_classes_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "autoattack", types.SimpleNamespace(AutoAttack=object))
    target = subject(small_convolution(classes=4), torch.rand(2, 1, 8, 8), torch.tensor([0, 1]))
    with pytest.raises(InputError, match="AutoAttack needs 10 classes or more; the network has 4"):
        run_protocol("autoattack", target)


@pytest.mark.slow
def test_the_packaged_autoattack_runs(networks, pair):
    pytest.importorskip("pyautoattack", reason="pip install pyautoattack")
    few = subject(Normalised(networks[0], (0.3,), (0.4,)), pair.images, pair.labels).chosen(8)
    (result,) = run_protocol("autoattack", few)
    by_method = {row.method: row.accuracy for row in result.rows}
    assert by_method["autoattack"] <= by_method["pgd-20"]


def test_autoattack_takes_one_network_at_a_time(pair, monkeypatch):
    monkeypatch.setitem(sys.modules, "autoattack", types.SimpleNamespace(AutoAttack=object))
    with pytest.raises(InputError, match="one network at a time"):
        run_protocol("autoattack", pair)

"""The worked examples of the page on extending."""

from pathlib import Path
from types import ModuleType

import pytest
import torch
from tests.docs.blocks import load_file

from zerosnet.data import DataSet
from zerosnet.experiments import collect, read_evidence
from zerosnet.models import create_model
from zerosnet.numerics import FAMILIES, PROBLEMS, Scheme, is_zero_stable, observed_order, order
from zerosnet.robustness import PROTOCOLS, Normalised, run_protocol, subject
from zerosnet.training import Store


def example(name: str) -> ModuleType:
    return load_file(f"examples/{name}.py")


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = example("family")
    monkeypatch.setitem(FAMILIES, "ab2-blend", module.BLEND)
    module.register()
    return module


def test_a_registered_family_is_known_by_text(family: ModuleType) -> None:
    assert Scheme.parse("ab2-blend(1)") == Scheme([1, 0], ["3/2", "-1/2"])
    assert Scheme.parse("ab2-blend(1/2)").is_exact


def test_the_blend_is_zero_stable_everywhere_and_of_order_two_at_one(family: ModuleType) -> None:
    assert str(family.BLEND.stable_set()) == "(-oo, oo)"
    assert [order(family.BLEND(theta)) for theta in ("0", "1/2", "1")] == [1, 1, 2]
    assert all(is_zero_stable(family.BLEND(theta)) for theta in ("-3", "1/2", "7"))


def test_the_blend_converges_with_its_order(family: ModuleType) -> None:
    for problem in PROBLEMS.values():
        assert observed_order(family.BLEND("1"), problem, 200) == pytest.approx(2, abs=0.1), problem.name
        assert observed_order(family.BLEND("1/2"), problem, 200) == pytest.approx(1, abs=0.1), problem.name


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = example("protocol")
    monkeypatch.setitem(PROTOCOLS, "salt-and-pepper", module.SALT_AND_PEPPER)
    module.register()
    return module


def test_the_new_protocol_measures_fused_networks(protocol: ModuleType, small_digits: DataSet) -> None:
    model = create_model("zerosnet20_opt", in_chans=1, replicas=2, seed=[1, 2]).eval()
    target = subject(Normalised(model, [0.3], [0.4]).eval(), small_digits.test.images, small_digits.test.labels)
    results = run_protocol("salt-and-pepper", target)
    assert len(results) == 2
    assert [row.settings["share"] for row in results[0].rows] == list(protocol.SHARES)


def test_salt_and_pepper_depends_on_the_index_alone(protocol: ModuleType) -> None:
    images = torch.full((4, 3, 8, 8), 0.5)
    all_at_once = protocol.salt_and_pepper(images, torch.arange(4), 0.3)
    assert torch.equal(all_at_once[2:3], protocol.salt_and_pepper(images[:1], torch.tensor([2]), 0.3))
    assert torch.equal(protocol.salt_and_pepper(images, torch.arange(4), 0.0), images)
    share = (all_at_once != 0.5).float().mean()
    assert 0.1 < share < 0.5
    assert set(all_at_once.unique().tolist()) == {0.0, 0.5, 1.0}


def test_the_new_experiment_declares_its_runs_and_finds_none(tmp_path: Path) -> None:
    experiment = example("experiment").more_steps()
    assert len(experiment.specs("full")) == 9
    assert [row.zero_stable for row in experiment.rows] == [True, True, True]
    measured = collect(experiment, read_evidence(Store(tmp_path)), "full")
    assert {cell.status for cell in measured.cells} == {"not run"}

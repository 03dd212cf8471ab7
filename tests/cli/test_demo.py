"""The demonstration: predicted first, then measured, and the point in the last line."""

import json

import pytest
from tests.experiments.made_up import finish_all

from zerosnet.cli.demo import show_demo, the_point
from zerosnet.cli.main import run as command
from zerosnet.experiments import DEMO, EXPERIMENTS, Evidence, collect, read_evidence
from zerosnet.numerics import Scheme, forecast
from zerosnet.training import Store

(NAME,) = DEMO
EXPERIMENT = EXPERIMENTS[NAME]


def by_depth(spec):
    return 0.4 + forecast(spec.scheme, 56).effective_depth / 50


@pytest.fixture
def trained(tmp_path):
    """A store in which accuracy follows the prediction."""
    store = Store(tmp_path / "runs")
    finish_all(store, EXPERIMENT.specs("demo"), by_depth)
    return store


def test_the_demonstration_is_eight_networks_that_differ_in_their_scheme_alone():
    specs = EXPERIMENT.specs("demo")
    assert len({spec.scheme for spec in specs}) == len(specs) == 8
    assert len({(spec.model, spec.dataset, spec.recipe, spec.seed) for spec in specs}) == 1


def test_predictions_are_written_with_date_and_commit_before_training(tmp_path, capsys, monkeypatch):
    seen = []

    def train(engine, specs, store, *rest):
        seen.append(json.loads((store.root / "predictions.json").read_text())["predictions"])

    monkeypatch.setattr("zerosnet.training.Local.train", train)
    where = ["--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]
    assert command(["reproduce", *where]) == 0
    (found,) = seen
    assert {Scheme.parse(one["scheme"]) for one in found} == {spec.scheme for spec in EXPERIMENT.specs("demo")}
    assert all(one["date"] and "git" in one and one["effective_depth"] > 0 for one in found)
    assert "before training" in capsys.readouterr().out


def test_predictions_are_never_made_twice(trained, capsys, tmp_path):
    where = ["--store", str(trained.root), "-o", str(tmp_path / "r.html")]
    for _ in range(2):
        assert command(["reproduce", *where]) == 0
    assert "before training" not in capsys.readouterr().out.partition("trained alike")[2]
    assert len(json.loads((trained.root / "predictions.json").read_text())["predictions"]) == 8


def test_the_last_line_is_the_point(trained, capsys, tmp_path):
    assert command(["reproduce", "--store", str(trained.root), "-o", str(tmp_path / "r.html")]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "Alike but for four numbers: a predicted effective depth of 3 to 10 of 27 blocks gave 46 to 59 % (5 networks), "
        "of 22 to 23 of 27 blocks gave 84 to 86 % (3 networks); rank correlation +1.00. Zero stability alone misplaces "
        "from-roots(3/5, 3/5) and zerosnet(1/2)."
    )


def test_nothing_is_shown_before_anything_is_trained(capsys):
    table = collect(EXPERIMENT, Evidence(), "demo")
    show_demo(table, {})
    assert capsys.readouterr().out == "" and the_point(table) is None


def test_networks_without_ablation_are_shown_too(tmp_path, capsys):
    store = Store(tmp_path / "runs")
    finish_all(store, EXPERIMENT.specs("demo")[:1], by_depth)
    show_demo(collect(EXPERIMENT, read_evidence(store), "demo"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("1 networks") and "not run" in shown


def test_a_damaged_file_of_predictions_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    file = tmp_path / "runs" / "predictions.json"
    file.write_text("[]")
    assert command(["reproduce", "--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]) == 2
    assert "predictions.json" in capsys.readouterr().err and file.read_text() == "[]"

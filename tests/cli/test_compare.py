"""`zerosnet compare`, as a user calls it."""

import json
import subprocess
import sys

import pytest

from zerosnet.cli.drawings import sparkline
from zerosnet.numerics import forecast, load_law
from zerosnet.training import Result, RunSpec, Store


@pytest.fixture
def store(tmp_path):
    """Two seeds of the optimum, whose used depth was measured, and one run of an unstable scheme."""
    store = Store(tmp_path / "runs")
    plain = {"dataset": "cifar10", "recipe": "paper"}
    for model, scheme, seed, accuracy in (
        ("zerosnet20_opt", None, 1, 0.91),
        ("zerosnet20_opt", None, 2, 0.93),
        ("zerosnet20", "1,1,1;1", 1, 0.80),
    ):
        spec = RunSpec.from_json({"model": model, "scheme": scheme, "seed": seed, **plain})
        with store.claim(spec) as claimed:
            for epoch in (1, 2):
                claimed.append_metrics({"epoch": epoch, "test_accuracy": accuracy * epoch / 2, "train_loss": 1 / epoch})
            result = Result("finished", 2, 5.0, test_accuracy=accuracy, best_epoch=2, best_test_accuracy=accuracy)
            claimed.finish(result)
            if scheme is None:
                (claimed.folder / "ablation.json").write_text(json.dumps({"used_blocks": 8}))
    return store


def test_schemes_stand_side_by_side(call):
    code, out, _ = call("compare", "zerosnet(-9/5)", "-3,5,-1;4")
    assert code == 0
    assert "zerosnet(-9/5)" in out and "zerosnet(-1/5)" in out
    assert "yes (strongly stable)" in out and "no (unstable)" in out
    for scheme in ("zerosnet(-9/5)", "zerosnet(-1/5)"):
        found = forecast(scheme)
        assert f"{found.effective_depth:.1f} of 27 blocks" in out
        assert found.survivors_text in next(line for line in out.splitlines() if line.startswith("survive training"))
        assert f"{found.prediction.accuracy:.1f} (" in out


def test_a_scheme_unlike_those_measured_has_a_reason_in_place_of_an_accuracy(call):
    _, out, _ = call("compare", "euler", "0;1")
    (predicted,) = (line.split() for line in out.splitlines() if line.startswith("predicted test"))
    assert predicted[-1] == "-" and out.splitlines()[-1].startswith("no accuracy for euler(0): the law was fitted on")


def test_growth_is_that_of_the_networks_depth(call):
    _, out, _ = call("compare", "euler", "1,1,1;1", "--layers", "20")
    assert out.count("-fold over 9 blocks") == 2


def test_schemes_as_json_have_their_forecasts(call):
    code, out, _ = call("compare", "euler", "leapfrog", "--layers", "20", "--json")
    first, second = json.loads(out)
    assert code == 0
    assert (first["name"], second["name"]) == ("euler", "leapfrog")
    assert first["zero_stable"] and len(second["forecast"]["shares"]) == 9


def test_runs_of_all_seeds_stand_side_by_side_with_what_was_predicted(call, store):
    code, out, err = call("compare", "zerosnet20_opt", "zerosnet20-", "--store", str(store.root))
    assert code == 0, err
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert "92.00 ± 1.41" in lines["test"] and "80.00" in lines["test"]
    assert "8.00 ± 0.00 of 9 blocks" in lines["used depth"]
    assert f"{forecast('1,1,1;1', 20).effective_depth:.1f} of 9 blocks, predicted" in lines["effective depth"]
    predicted = load_law().predict_left_out(forecast("zerosnet(-9/5)", 20).wiring)
    assert f"{predicted.accuracy:.1f}" in lines["predicted best"]
    assert "zerosnet diagnose RUN" in out  # of the second, nobody has measured the used depth


def test_runs_as_json_have_curves(call, store):
    code, out, _ = call("compare", "zerosnet20_opt", "zerosnet20-", "--store", str(store.root), "--json")
    optimum, other = json.loads(out)
    assert code == 0
    assert optimum["curve"] == pytest.approx([0.46, 0.92]) and optimum["used_depth"] == [8, 8]
    assert len(optimum["runs"]) == 2 and other["runs"][0]["test_accuracy"] == 0.80


def test_both_kinds_are_drawn(call, store, tmp_path):
    assert call("compare", "euler", "1,1,1;1", "--plot", str(tmp_path / "a.png"))[0] == 0
    words = ("zerosnet20_opt", "zerosnet20-", "--store", str(store.root))
    assert call("compare", *words, "--plot", str(tmp_path / "b.png"))[0] == 0
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("a.png", "b.png"))


@pytest.mark.parametrize(
    "words", [("euler", "leapfrog", "1,1,1;1", "zerosnet(-9/5)"), ("zerosnet20_opt", "zerosnet20-")]
)
def test_tables_fit_80_columns(call, store, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = call("compare", *words, "--store", str(store.root))
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("euler",), "expected two or more schemes"),
        (("euler", "nobody"), "'nobody' is no scheme, and others are"),
        (("nobody", "zerosnet56_opt"), "'nobody' is neither a scheme nor a run in store"),
        (("euler", "leapfrog", "--dataset", "cifar-10"), "dataset is 'cifar-10'"),
        (("nobody", "nothing"), "expected schemes such as"),
        (("euler", "zerosnet(0)"), "lambda is 0"),
        (("euler", "leapfrog", "--jsn"), "did you mean --json?"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(refused, store, words, message):
    refused(["compare", *words, "--store", str(store.root)], message)


def test_schemes_are_compared_without_torch():
    code = (
        "import sys; from zerosnet.cli.main import run\n"
        "run(['compare', 'euler', 'ab2']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_curve_has_a_sign_per_place_and_27_at_most():
    assert sparkline([0.0, 1.0]) == "▁█"
    assert len(sparkline([0.5] * 400)) == 27

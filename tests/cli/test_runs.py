import json
import subprocess
import sys
from dataclasses import replace

import pytest

from zerosnet.cli.main import run as command
from zerosnet.training import Result, RunSpec, Store

SPEC = RunSpec.from_json(
    {
        "model": "zerosnet20_opt",
        "dataset": "digits",
        "recipe": {"name": "quick", "epochs": 3},
        "seed": 1,
        "scheme": "1;1",
    }
)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "store")
    with store.claim(SPEC) as run:
        run.finish(Result("finished", epochs=3, seconds=1.0, test_accuracy=0.97, best_epoch=2, best_test_accuracy=0.98))
    store.claim(replace(SPEC, seed=2)).release()
    return store


def test_runs_as_json_is_one_list_of_objects(store, capsys):
    assert command(["runs", "--store", str(store.root), "--json"]) == 0
    finished, stopped = json.loads(capsys.readouterr().out)
    keys = {"id", "model", "scheme", "dataset", "recipe", "seed", "status"}
    assert keys <= finished.keys() and keys <= stopped.keys()
    assert (finished["status"], finished["test_accuracy"], finished["recipe"]) == ("finished", 0.97, "quick")
    assert (stopped["status"], stopped["epochs"]) == ("stopped", 0) and "test_accuracy" not in stopped


def test_runs_as_a_table_shows_state_accuracies_and_changed_recipes(store, capsys):
    assert command(["runs", "--store", str(store.root), "--each"]) == 0
    out = capsys.readouterr().out
    assert SPEC.id in out and "97.00" in out and "98.00" in out and "stopped" in out and "epochs 3" in out


def test_runs_that_differ_in_precision_alone_do_not_look_the_same(store, capsys):
    store.claim(replace(SPEC, precision="fp32")).release()
    assert command(["runs", "--store", str(store.root)]) == 0
    out = capsys.readouterr().out
    assert "zerosnet20_opt, precision fp32" in out
    assert "epochs 3" in out


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_an_empty_or_missing_store_is_no_error(tmp_path, capsys, arguments):
    for place in (tmp_path, tmp_path / "missing"):
        assert command(["runs", "--store", str(place), *arguments]) == 0
        out = capsys.readouterr().out
        assert json.loads(out) == [] if arguments else "no runs" in out
        assert arguments or ("does not exist" in out) == (place != tmp_path)


def test_a_damaged_run_is_reported_beside_the_others(store, capsys):
    (store.folder(SPEC) / "result.json").write_text("{")
    assert command(["runs", "--store", str(store.root), "--json"]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 1 and "result.json is damaged" in captured.err


def test_a_file_in_place_of_a_store_is_bad_input(tmp_path, refused):
    (tmp_path / "file").write_text("")
    refused(["runs", "--store", str(tmp_path / "file")], "expected a folder")


def test_square_brackets_in_a_recipe_are_no_markup(store, capsys):
    store.claim(replace(SPEC, recipe=replace(SPEC.recipe, name="mine [/x] [bold]"))).release()
    assert command(["runs", "--store", str(store.root)]) == 0
    assert "name mine [/x] [bold]" in capsys.readouterr().out


def test_a_store_whose_only_run_is_damaged_is_not_called_empty(tmp_path, capsys):
    store = Store(tmp_path)
    store.claim(SPEC).release()
    (store.folder(SPEC) / "result.json").mkdir()
    assert command(["runs", "--store", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "can be read" in shown.out and "no runs" not in shown.out and "result.json" in shown.err


@pytest.fixture
def several(tmp_path):
    """Two schemes with two finished seeds each, and a stopped run on another data set."""
    store = Store(tmp_path / "several")
    plain = {"dataset": "digits", "recipe": "quick"}
    for scheme, accuracies in (("zerosnet(-9/5)", (0.97, 0.99)), ("1,1,1;1", (0.80, 0.82))):
        for seed, accuracy in enumerate(accuracies, start=1):
            spec = RunSpec.from_json({"model": "zerosnet20", "scheme": scheme, "seed": seed, **plain})
            with store.claim(spec) as run:
                result = Result("finished", 8, 1.0, test_accuracy=accuracy, best_epoch=1, best_test_accuracy=accuracy)
                run.finish(result)
    other = RunSpec.from_json({"model": "preresnet20", "dataset": "mnist", "recipe": "quick", "seed": 1})
    store.claim(other).release()
    return store


def listed(capsys, store, *arguments):
    assert command(["runs", "--store", str(store.root), *arguments]) == 0
    return capsys.readouterr().out


def test_seeds_are_one_line_with_mean_and_deviation_and_schemes_have_names(capsys, several):
    lines = listed(capsys, several).splitlines()
    (optimum,) = [line for line in lines if "zerosnet(-9/5)" in line]
    assert "98.00 ± 1.41" in optimum and optimum.split()[2] == "2"
    (euler,) = [line for line in lines if "preresnet20" in line]
    assert "euler" in euler and "1 stopped" in euler


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--model", "zerosnet*"], 4),
        (["--dataset", "mnist"], 1),
        (["--scheme", "1/3,5/9,1/9;16/9"], 2),
        (["--scheme", "euler"], 1),
        (["--status", "finished"], 4),
        (["--status", "stopped", "--model", "zerosnet20"], 0),
    ],
)
def test_filters_let_through_what_they_name(capsys, several, arguments, count):
    assert len(json.loads(listed(capsys, several, *arguments, "--json"))) == count


def test_a_filter_that_lets_nothing_through_is_named(capsys, several):
    assert "None of the 5 runs" in listed(capsys, several, "--model", "lm*")


def test_runs_are_sorted_by_accuracy_from_the_highest_down(capsys, several):
    found = [line["test_accuracy"] for line in json.loads(listed(capsys, several, "--sort", "test", "--json"))[:4]]
    assert found == [0.97, 0.99, 0.80, 0.82]  # the better scheme first, its seeds in order


@pytest.mark.parametrize("words", [["--status", "finishd"], ["--sort", "tset"], ["--scheme", "nonsense(1)"]])
def test_a_wrong_filter_is_bad_input(refused, several, words):
    refused(["runs", "--store", str(several.root), *words], "expected one of")


@pytest.mark.parametrize("arguments", [[], ["--each"]])
def test_listings_fit_80_columns(capsys, several, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    out = listed(capsys, several, *arguments)
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out


def test_ids_and_schemes_stay_whole_on_narrow_screens(capsys, several, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = listed(capsys, several, "--each")
    schemes = {record.spec.scheme.name for record in several.records() if record.spec.scheme is not None}
    assert schemes and all(any(line.strip() == name for line in out.splitlines()) for name in schemes)
    assert all(record.id in out for record in several.records())


def test_listing_runs_loads_no_torch(several):
    code = (
        "import sys; from zerosnet.cli.main import run\n"
        f"run(['runs', '--store', {str(several.root)!r}]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("git", "mark"), [({"commit": "ab", "dirty": True}, "†"), (None, "°"), ({"commit": "ab", "dirty": False}, None)]
)
def test_runs_whose_code_is_that_of_no_commit_are_marked(store, git, mark, capsys):
    (store.root / SPEC.id / "environment.json").write_text(json.dumps({"git": git}))
    assert command(["runs", "--store", str(store.root), "--each"]) == 0
    out = capsys.readouterr().out
    assert (f"{SPEC.id} {mark}" in out) if mark else ("†" not in out and "°" not in out)
    assert command(["runs", "--store", str(store.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["commit"] == (git and "ab")

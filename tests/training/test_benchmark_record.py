"""A run that is cut loses the case in progress and nothing else."""

import json

import pytest
from benchmarks import training
from benchmarks.__main__ import main
from benchmarks.record import begun, command, keep

FACTS = {"command": command("training"), "environment": {"torch": "2.11"}}


def growing(rows, cut_after=None):
    for count in range(1, len(rows) + 1):
        yield {"rows": rows[:count]}
        if count == cut_after:
            raise KeyboardInterrupt


def read(path):
    return json.loads(path.read_text())


def test_a_whole_run_leaves_one_complete_file(tmp_path):
    path = tmp_path / "training.json"
    assert keep(path, FACTS, growing([1, 2, 3])) == path
    assert read(path) == {**FACTS, "rows": [1, 2, 3]}
    assert list(tmp_path.iterdir()) == [path]


def test_a_result_that_does_not_grow_is_stored_as_it_is(tmp_path):
    assert read(keep(tmp_path / "numerics.json", FACTS, {"rate": 7})) == {**FACTS, "rate": 7}


def test_a_cut_run_keeps_what_it_had_and_the_complete_result_before_it(tmp_path):
    path = keep(tmp_path / "training.json", FACTS, {"rows": ["old"]})
    with pytest.raises(KeyboardInterrupt):
        keep(path, FACTS, growing([1, 2, 3], cut_after=2))
    assert read(path)["rows"] == ["old"]
    assert begun(path, FACTS) == {**FACTS, "partial": True, "rows": [1, 2]}


def test_a_benchmark_resumes_only_an_incomplete_result_of_its_command_and_machine(tmp_path):
    path = tmp_path / "training.json"
    assert begun(path, FACTS) == {}
    with pytest.raises(KeyboardInterrupt):
        keep(path, FACTS, growing([1, 2], cut_after=1))
    assert begun(path, FACTS | {"command": command("training", "K=10")}) == {}
    assert begun(path, FACTS | {"environment": {"torch": "2.12"}}) == {}
    keep(path, FACTS, growing([1, 2]))
    assert begun(path, FACTS) == {}


def test_a_result_with_cases_left_out_stays_partial(tmp_path):
    path = keep(tmp_path / "training.json", FACTS, iter([{"rows": [1], "left_out": {"K=30": "no time left"}}]))
    assert path.name == "training.partial.json" and begun(tmp_path / "training.json", FACTS)["rows"] == [1]


def test_a_run_that_is_not_complete_ends_with_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "run", lambda only, before: {"rows": [], "left_out": {"K=30": "no time left"}})
    assert main(["training", "--out", str(tmp_path)]) == 1


def test_a_recorded_command_has_no_path_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "run", lambda only, before: {"rows": []})
    assert main(["training", "--out", str(tmp_path), "--only", "K=30, torch"]) == 0
    (path,) = tmp_path.iterdir()
    assert path.name == f"training{training.suffix()}-K-30-torch.json"
    assert read(path)["command"] == "python -m benchmarks training --only 'K=30, torch'"


def test_the_same_command_goes_on_where_it_was_cut(tmp_path, monkeypatch):
    seen = []

    def run(only, before):
        seen.append(before.get("rows"))
        yield {"rows": ["first"]}
        if not before:
            raise KeyboardInterrupt
        yield {"rows": ["first", "second"]}

    monkeypatch.setattr(training, "run", run)
    with pytest.raises(KeyboardInterrupt):
        main(["training", "--out", str(tmp_path)])
    assert main(["training", "--out", str(tmp_path)]) == 0
    assert seen == [None, ["first"]]
    assert read(tmp_path / f"training{training.suffix()}.json")["rows"] == ["first", "second"]


@pytest.mark.parametrize("option", [["--only", "K=10"], ["--compile"]])
def test_options_for_cases_are_refused_for_a_benchmark_without_cases(option, capsys):
    with pytest.raises(SystemExit):
        main(["numerics", *option])
    assert f"{option[0]} is for" in capsys.readouterr().err

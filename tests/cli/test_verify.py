import json
import subprocess
import sys

import pytest
from tests.measured_runs import RUNS, needs_runs

from zerosnet.cli.main import run


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store" / "x"
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text("{")
    return tmp_path / "store"


@needs_runs
def test_the_records_of_the_repository_pass_and_nothing_heavy_is_loaded():
    code = (
        "import sys; from zerosnet.cli.main import run; code = run(['verify', sys.argv[1], '--json']);"
        "print(code, [m for m in ('torch', 'numpy', 'sympy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(RUNS)], capture_output=True, text=True, check=True)
    *document, last = done.stdout.splitlines()
    assert last == "0 []" and json.loads("\n".join(document))["passed"] is True


def test_every_problem_is_one_line_and_the_exit_code_is_1(store, capsys):
    assert run(["verify", str(store)]) == 1
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and err.startswith("zerosnet: x: spec.json is damaged")
    assert out.startswith("FAILED: 1 problems")


def test_a_store_may_also_be_named_by_an_option(store, capsys):
    assert run(["verify", "--store", str(store)]) == 1
    assert capsys.readouterr().err.startswith("zerosnet: x: spec.json is damaged")
    assert run(["verify", str(store), "--store", "other"]) == 2
    assert "two stores are given" in capsys.readouterr().err


def test_json_is_one_document(store, capsys):
    assert run(["verify", str(store), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False and document["problems"][0]["where"] == "x"


@pytest.mark.parametrize("words", [["nowhere"], [".", "--predictions", "nowhere"], ["."]])
def test_a_folder_that_holds_no_runs_is_bad_input(words, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    refused(["verify", *words], "expected a folder")

"""Input that was made to break commands: each case is one line on stderr and exit code 2, or is dealt with."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from zerosnet.cli.main import run
from zerosnet.models import create_model, save_model
from zerosnet.training import Result, RunSpec, Store, recipe

TWENTY_DIGITS = "9" * 20
SPEC = RunSpec("zerosnet20_opt", "digits", recipe("quick", "digits"), 1)


def finished_run(root, nan=False):
    model = create_model("zerosnet20_opt", in_chans=1, seed=1)
    if nan:
        with torch.no_grad():
            next(model.parameters()).fill_(float("nan"))
    with Store(root).claim(SPEC) as claimed:
        result = Result("finished", 8, 0.1, test_accuracy=0.1, best_epoch=1, best_test_accuracy=0.1)
        claimed.finish(result, partial(save_model, model, facts={}))
    return root / SPEC.id


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["analyze", "1;1e-200,1e200"], "are too far apart"),
        (["analyze", "1;1e-200,1e200", "--json"], "are too far apart"),
        (["train", "zerosnet20", "--dataset", "digits", "--scheme", "1e39;1"], "a coefficient of size 1e+39"),
        (["diagnose", "zerosnet20", "--scheme", "1e39;1"], "a coefficient of size 1e+39"),
        (["train", "zerosnet20_opt", "--dataset", "digits", "--seed", TWENTY_DIGITS], "below 2^63"),
        (["diagnose", "zerosnet20_opt", "--seed", TWENTY_DIGITS], "below 2^63"),
        (["diagnose", "zerosnet20_opt", "--images", TWENTY_DIGITS], "less than or equal to 100000"),
        (["export", "zerosnet20_opt", "-o", os.fsdecode(b"\xff.pt2")], "which is no UTF-8"),
        (["evaluate", ""], "the run's name is empty"),
        (["diagnose", ""], "the network's name is empty"),
        (["export", "", "-o", "a.onnx"], "the network's name is empty"),
        (["attack", "", "--protocol", "paper-noise"], "a run's name is empty"),
        (["train", "zerosnet20_opt", "--dataset", "digit"], "(did you mean digits?)"),
        (["train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "qick"], "(did you mean quick?)"),
        (["diagnose", "zerosnet20_op"], "zerosnet20_opt"),
        (["train", "resnet20", "--dataset", "digits"], "(did you mean preresnet20?)"),
        (["train", "zerosnet20", "--dataset", "digits", "--scheme", "1,1,1"], "a shell ends a command at a semicolon"),
        (["trian"], "(did you mean train?)"),
        (["runs", "--store", "a" * 300], "File name too long; expected another name"),
        (["diagnose", "a" * 300], "File name too long; expected another name"),
    ],
)
def test_hostile_input_is_one_line(words, message, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    refused(words, message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["runs"], ["train", "zerosnet20_opt", "--dataset", "digits"], ["evaluate", "a"]])
def test_a_store_on_a_loop_of_links_is_bad_input(words, tmp_path, refused):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    refused([*words, "--store", str(tmp_path / "a")], "a link that leads nowhere; expected a folder")


def test_the_doctor_looks_at_a_store_on_a_loop_of_links(tmp_path, capsys):
    (tmp_path / "a").symlink_to("a")
    assert run(["doctor", "--store", str(tmp_path / "a")]) == 0
    assert "CANNOT be written" in capsys.readouterr().out


def test_a_run_is_evaluated_from_inside_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(finished_run(tmp_path))
    assert run(["evaluate", ".", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.startswith(f"{SPEC.id}: test ")


def test_weights_that_are_not_finite_have_no_accuracy(tmp_path, refused):
    words = ["evaluate", str(finished_run(tmp_path, nan=True)), "--device", "cpu"]
    refused(words, f"the weights of {SPEC.id} are not finite")


def test_files_that_are_not_used_are_named(tmp_path, capsys):
    assert run(["evaluate", str(finished_run(tmp_path)), "--device", "cpu", "--data", ".", "--download"]) == 0
    err = capsys.readouterr().err
    assert "--data is not used: digits needs no files\n" in err and "--download is not used" in err


def test_a_record_without_weights_is_trained_again_into_another_store(tmp_path, capsys):
    folder = finished_run(tmp_path)
    (folder / "weights.safetensors").unlink()
    assert run(["evaluate", str(folder)]) == 2
    assert f"zerosnet sweep {folder}/spec.json --store NEW" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="closes streams as a shell does")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("analyze leapfrog", 0), ("analyze nonsense", 2), ("--help", 0)])
def test_closed_streams_are_no_error(closed, words, code, tmp_path):
    command = f"{sys.executable} -m zerosnet {words} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code and "Traceback" not in done.stderr and "Error" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout_is_a_failure(tmp_path):
    command = f"{sys.executable} -m zerosnet analyze leapfrog > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "No space left" in done.stderr and "Traceback" not in done.stderr


def test_a_result_without_optional_numbers_is_printed_without_them(tmp_path, capsys):
    folder = finished_run(tmp_path)
    result = '{"status": "finished", "epochs": 8, "seconds": 1, "test_accuracy": 0.25}'
    (folder / "result.json").write_text(result)
    assert run(["sweep", str(folder / "spec.json"), "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{SPEC.id}  finished  test 25.00%\n"


@pytest.mark.parametrize("words", [["runs"], ["sweep", "spec.json", "--max-seconds", "0.01"]])
def test_pipes_in_the_place_of_lock_and_checkpoint_are_not_waited_for(words, tmp_path, monkeypatch, capsys):
    folder = finished_run(tmp_path / "runs")
    (folder / "result.json").unlink()
    (folder / "lock").unlink()
    (folder / "checkpoints").mkdir()
    os.mkfifo(folder / "lock")
    os.mkfifo(folder / "checkpoints" / "000000000022.safetensors")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.json").write_bytes((folder / "spec.json").read_bytes())
    assert run(words) == 0
    assert "stopped" in capsys.readouterr().out

"""`zerosnet train`, `sweep` and `evaluate`: from the command line to the store, and their answers to bad input."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from tests.data.pictures import write_folder
from tests.few_digits import few_digits, one_thread

from zerosnet.data import DataSet, load
from zerosnet.training import Result, RunSpec, Store, recipe

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """64 training and 30 test images, one thread."""
    small = few_digits(64, 30)

    def read(name: str, *arguments: Any, **options: Any) -> DataSet:
        return small if name == "digits" else load(name, *arguments, **options)

    monkeypatch.setattr("zerosnet.training.plan.load", read)
    monkeypatch.setattr("zerosnet.data.load", read)
    with one_thread():
        yield


@pytest.fixture
def zerosnet(tmp_path: Path, call: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return call


TRAIN = ("train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "quick", "--epochs", "1", "--device", "cpu")


def test_train_then_evaluate_gives_the_same_accuracy(zerosnet: Run) -> None:
    code, out, _ = zerosnet(*TRAIN, "--seed", "3", "--seed", "4", "--json")
    assert code == 0
    first, second = json.loads(out)
    assert (first["seed"], second["seed"]) == (3, 4)
    assert first["status"] == second["status"] == "finished"
    assert Path("runs", first["id"], "weights.safetensors").exists()
    for name in (first["id"], f"runs/{first['id']}", "s3"):
        code, out, _ = zerosnet("evaluate", name, "--device", "cpu", "--json")
        assert code == 0
        assert json.loads(out)["test_accuracy"] == first["test_accuracy"]
    code, out, err = zerosnet(*TRAIN, "--seed", "3")
    assert code == 0 and "finished already" in err and "finished  test" in out


def test_a_time_limit_leaves_runs_to_be_continued(zerosnet: Run) -> None:
    code, out, err = zerosnet(*TRAIN, "--max-seconds", "1e-3", "--json")
    assert code == 0
    assert json.loads(out)[0]["status"] in ("stopped", "waiting")
    assert "the time limit; the same command goes on with 1 run" in err
    code, _, err = zerosnet("evaluate", "zerosnet20")
    assert code == 2
    code, out, _ = zerosnet(*TRAIN, "--json")
    assert code == 0 and json.loads(out)[0]["status"] == "finished"


def test_sweep_trains_a_grid(zerosnet: Run, tmp_path: Path) -> None:
    grid = {"model": "zerosnet20", "scheme": ["zerosnet(1/2)", "zerosnet(10)"], "dataset": "digits", "recipe": "quick"}
    (tmp_path / "sweep.json").write_text(json.dumps({"grid": grid | {"seed": [1]}}))
    code, out, _ = zerosnet("sweep", "sweep.json", "--epochs", "1", "--device", "cpu", "--store", "other", "--json")
    assert code == 0
    assert [run["status"] for run in json.loads(out)] == ["finished"] * 2
    assert len({run["scheme"] for run in json.loads(out)}) == 2
    assert len(list(Path("other").iterdir())) == 2
    code, out, _ = zerosnet("sweep", "sweep.json", "--epochs", "1", "--device", "cpu", "--store", "other")
    assert [line.split("  ")[1:3] for line in out.splitlines()] == [
        ["zerosnet(1/2)", "finished"],
        ["zerosnet(10)", "finished"],
    ]


@pytest.mark.parametrize("command", ["train", "sweep"])
def test_a_scheme_written_in_two_ways_is_one_run(zerosnet: Run, tmp_path: Path, command: str) -> None:
    schemes = ["zerosnet(-1/5)", "zerosnet(-0.2)"]
    grid = {"model": "zerosnet20", "scheme": schemes, "dataset": "digits", "recipe": "quick", "seed": 1}
    (tmp_path / "sweep.json").write_text(json.dumps({"grid": grid}))
    words = {
        "train": ("train", "zerosnet20", *TRAIN[2:], *(word for scheme in schemes for word in ("--scheme", scheme))),
        "sweep": ("sweep", "sweep.json", "--epochs", "1", "--device", "cpu"),
    }
    code, out, err = zerosnet(*words[command])
    assert code == 0 and out.count("finished") == 1
    assert "another process" not in err and err.count("training ") == 1


def test_only_the_chosen_loggers_write(zerosnet: Run) -> None:
    pytest.importorskip("tensorboard")
    code, _, _ = zerosnet(*TRAIN, "--log", "tensorboard")
    assert code == 0 and list(Path("runs").glob("*/tensorboard/events*")) and not list(Path("runs").glob("*/wandb"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "zerosnet21", "--dataset", "digits", "--recipe", "quick"), "unknown model 'zerosnet21'"),
        (("train", "zerosnet20", "--dataset", "digits", "--recipe", "quick"), "needs a scheme"),
        (("train", "zerosnet20_opt", "--dataset", "digits", "--scheme", "1;1", "--recipe", "quick"), "takes no scheme"),
        (("train", "zerosnet20", "--dataset", "digits", "--scheme", "nonsense"), "scheme"),
        (("train", "zerosnet20_opt", "--dataset", "letters"), "dataset is 'letters'"),
        (("train", "zerosnet20_opt", "--dataset", "cifar10"), "--data"),
        (("train", "zerosnet20_opt", "--dataset", "cifar10", "--data", "nowhere"), "missing"),
        (("train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "best"), "recipe is 'best'"),
        ((*TRAIN, "--epochs", "0"), "epochs"),
        ((*TRAIN, "--seed", "-1"), "seed"),
        ((*TRAIN, "--replicas", "0"), "replicas"),
        ((*TRAIN, "--precision", "fp8"), "precision"),
        ((*TRAIN, "--precision", "bf16"), "bf16"),
        ((*TRAIN, "--device", "tpu"), "device is 'tpu'"),
        ((*TRAIN, "--checkpoint-every", "often"), "checkpoint-every"),
        ((*TRAIN, "--max-seconds", "-1"), "max-seconds"),
        ((*TRAIN, "--log", "nothing"), "log is 'nothing'; expected one of tensorboard, wandb, trackio"),
        ((*TRAIN, "--unknown"), "--unknown"),
        (("sweep", "nowhere.json"), "nowhere.json"),
        (("evaluate", "nothing"), "nothing"),
    ],
)
@pytest.mark.usefixtures("zerosnet")
def test_bad_input_is_one_line_and_leaves_nothing_behind(words: tuple[str, ...], message: str, refused) -> None:
    refused(words, message)
    assert not Path("runs").exists()


@pytest.mark.parametrize("dataset", ["cifar10", "imagefolder"])
def test_a_record_without_weights_is_named_as_one_before_data_are_asked_for(zerosnet: Run, dataset: str) -> None:
    spec = RunSpec("zerosnet20_opt", dataset, recipe("quick", dataset), 1)
    with Store("runs").claim(spec) as claimed:  # type: ignore[union-attr]
        claimed.finish(Result("finished", 1, 0.1, test_accuracy=0.5))
    code, _, err = zerosnet("evaluate", spec.id, "--device", "cpu")
    assert code == 2 and err.count("\n") == 1
    assert "is a record without weights.safetensors" in err and "--data" not in err


def test_a_folder_with_other_classes_than_a_run_was_trained_on_is_bad_input(zerosnet: Run, tmp_path: Path) -> None:
    write_folder(tmp_path / "pictures", train=8, val=4)
    words = ("--dataset", "folder@16", "--data", "pictures", "--recipe", "quick", "--batch", "8", "--epochs", "1")
    assert zerosnet("train", "zerosnet20_opt", *words, "--device", "cpu")[0] == 0
    for part in ("train", "val"):
        first = min((tmp_path / "pictures" / part).iterdir())
        copytree(first, first.with_name("zzz"))
    code, _, err = zerosnet("evaluate", "folder", "--data", "pictures", "--device", "cpu")
    assert code == 2 and err.count("\n") == 1
    assert "dataset 'folder@16' has 4 classes and 3 channels" in err and "was trained on 3 and 3" in err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_without_a_gpu_is_bad_input(zerosnet: Run) -> None:
    code, _, err = zerosnet(*TRAIN[:-1], "cuda")
    assert code == 2 and "no CUDA device" in err


def test_native_kernels_that_cannot_be_had_are_not_passed_over_in_silence(zerosnet: Run) -> None:
    code, _, err = zerosnet(*TRAIN, "--kernels", "native")
    assert code == 0
    assert "plain torch instead of the native kernels: " in err

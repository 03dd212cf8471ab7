"""`zerosnet train`, `evaluate` and `attack` on folders of images, alone and under torchrun."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.data.pictures import write_folder

from zerosnet.experiments.ablation import ablate, read_ablation
from zerosnet.training import Store

Run = Callable[..., tuple[int, str, str]]
TRAIN = ("train", "zerosnet20_opt", "--dataset", "imagefolder:tiny@16", "--data", ".", "--recipe", "imagenet")
SHORT = ("--batch", "12", "--epochs", "1", "--device", "cpu", "--workers", "0")


@pytest.fixture
def zerosnet(tmp_path: Path, call: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "tiny")
    return call


def test_train_then_evaluate_gives_the_same_accuracies(zerosnet: Run) -> None:
    code, out, _ = zerosnet(*TRAIN, *SHORT, "--json")
    (found,) = json.loads(out)
    assert code == 0 and found["status"] == "finished"
    assert set(found["changes"]) == {"batch", "epochs", "lr"}
    code, out, _ = zerosnet("evaluate", found["id"], "--data", ".", "--device", "cpu", "--json")
    again = json.loads(out)
    assert code == 0 and again["images"] == 15
    assert again["test_accuracy"] == found["test_accuracy"]
    assert again["test_top5_accuracy"] == found["test_top5_accuracy"] == 1
    code, out, err = zerosnet(*TRAIN, *SHORT)
    assert code == 0 and "finished already" in err and "top-5 100.00%" in out


def test_missing_kernels_are_reported_and_replaced_by_torch(zerosnet: Run) -> None:
    code, out, err = zerosnet(*TRAIN, *SHORT, "--kernels", "native", "--json")
    (found,) = json.loads(out)
    assert code == 0 and found["status"] == "finished"
    assert err.count("plain torch instead of the native kernels: there are none for networks on imagefolder\n") == 1
    assert json.loads((Path("runs") / found["id"] / "environment.json").read_text())["kernels"] == "torch"
    code, _, err = zerosnet(*TRAIN, *SHORT, "--seed", "2", "--kernels", "torch")
    assert code == 0 and "instead" not in err


def test_a_run_is_attacked_and_ablated_on_its_centre_crops(zerosnet: Run) -> None:
    _, out, _ = zerosnet(*TRAIN, *SHORT, "--json")
    (found,) = json.loads(out)
    code, out, err = zerosnet("attack", found["id"], "--protocol", "paper-noise", "--data", ".", "--json")
    (result,) = json.loads(out)
    assert code == 0, err
    clean, *noisy = result["rows"]
    assert clean["accuracy"] == pytest.approx(found["test_accuracy"]) and len(noisy) == 17
    store = Store("runs")
    ablate(store.records(), torch.device("cpu"), Path())
    ablation = read_ablation(store.find(found["id"]))
    assert ablation is not None and (ablation.images, ablation.accuracy) == (15, clean["accuracy"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (TRAIN, "batch is 256, but there are only 24 training images; see --batch"),
        ((*TRAIN, *SHORT, "--micro-batch", "5"), "micro-batch is 5; expected a divisor of 12"),
        ((*TRAIN, *SHORT, "--broken", "maybe"), "broken is 'maybe'; expected one of fatal, skip"),
        ((*TRAIN, *SHORT, "--workers", "-1"), "workers is -1"),
        ((*TRAIN, *SHORT, "--replicas", "3"), "replicas is 3"),
        ((*TRAIN, *SHORT, "--recipe", "pgd-madry"), "adversarial training"),
        (("train", "zerosnet20_opt", "--dataset", "imagefolder", "--recipe", "imagenet"), "--data DIR"),
        ((*TRAIN[:3], "imagefolder:nowhere", *TRAIN[4:]), "nowhere/train is not a folder"),
        (("train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "quick", "--sync-bn"), "are for imagefolder"),
        (
            ("train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "quick", "--precision", "mixed"),
            "mixed is for CUDA devices",
        ),
    ],
)
@pytest.mark.usefixtures("zerosnet")
def test_bad_input_is_one_line_and_leaves_nothing_behind(words: tuple[str, ...], message: str, refused) -> None:
    refused(words, message)
    assert not Path("runs").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_all_processes_leaves_a_run_to_be_continued(
    number: signal.Signals, code: int, zerosnet: Run, tmp_path: Path
) -> None:
    words = [*TRAIN, "--batch", "12", "--epochs", "500", "--device", "cpu", "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "zerosnet", *words],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not any(path.stat().st_size for path in tmp_path.glob("runs/*/metrics.jsonl")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)  # workers too, as Ctrl-C, torchrun and Slurm do
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert f"stopped by {number.name}; the same command goes on with 1 run" in err and "Traceback" not in err
    assert list(tmp_path.glob("runs/*/checkpoints/*.safetensors"))


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("zerosnet: ")]


@pytest.mark.slow
def test_torchrun_takes_the_same_command(zerosnet: Run, tmp_path: Path) -> None:
    def torchrun(*words: str) -> subprocess.CompletedProcess[str]:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        command = [*launcher, "-m", "zerosnet", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    for broken in (tmp_path / "tiny" / "train").glob("*/*_0.JPEG"):  # what is said of them is not part of the document
        broken.write_bytes(b"no image")
    done = torchrun(*TRAIN, *SHORT, "--broken", "skip", "--json")
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stderr
    (found,) = json.loads(done.stdout)
    assert found["status"] == "finished"
    assert json.loads((tmp_path / "runs" / found["id"] / "environment.json").read_text())["processes"] == 2
    refused = torchrun(*TRAIN, "--batch", "13", "--device", "cpu", "--store", "other")
    assert refused.returncode != 0 and not (tmp_path / "other").exists()
    assert told(refused) == ["zerosnet: 2 processes do not share a batch of 13 evenly; expected a divisor of it"]
    refused = torchrun(*TRAIN, "--device", "tpu")
    assert refused.returncode != 0 and told(refused) == [
        "zerosnet: device is 'tpu'; expected auto, cpu, cuda or cuda:N"
    ]

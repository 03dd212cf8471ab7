"""`zerosnet doctor`, and shell completion."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from zerosnet.cli.commands import doctor as checkup


def test_it_tells_people(call) -> None:
    code, out, err = call("doctor")
    assert (code, err) == (0, "")
    for part in ("torch " + torch.__version__.partition("+")[0], "engine", "tensorboard", "export", "Store runs"):
        assert part in out


def test_it_tells_programs(call, tmp_path: Path) -> None:
    code, out, _ = call("doctor", "--json", "--store", tmp_path / "new")
    found = json.loads(out)
    assert code == 0
    assert found["store"] == {"folder": str(tmp_path / "new"), "runs": 0, "writable": True}
    assert found["devices"][-1]["device"] == "cpu" and found["devices"][-1]["engine"] == "torch"
    assert found["data"] is None
    extras = {row["extra"]: row for row in found["extras"]}
    assert "zerosnet export" in extras["export"]["for"]
    for row in extras.values():
        assert row["installed"] == (not row["missing"]) == (not row["remedy"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="where there is a GPU there is more to say")
def test_the_engine_comes_with_its_reason() -> None:
    assert [(row["engine"], row["why"]) for row in checkup.find_devices()] == [("torch", "there is no CUDA device")]


@pytest.mark.parametrize(
    ("device", "compiler", "engine", "why"),
    [
        (None, None, "native", "kernels of our own"),
        ("it is too old", None, "torch", "it is too old"),
        (None, "NVRTC could not build the kernels: missing", "torch", "NVRTC could not build"),
    ],
)
def test_a_gpu_gets_kernels_or_the_reason_why_not(monkeypatch, device, compiler, engine, why) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "GPU")
    monkeypatch.setattr("zerosnet.kernels.reason_against_device", lambda _: device)
    monkeypatch.setattr("zerosnet.kernels.reason_against_compiler", lambda _: compiler)
    gpu, cpu = checkup.find_devices()
    assert (gpu["device"], gpu["engine"]) == ("cuda:0", engine) and why in gpu["why"]
    assert (cpu["engine"], cpu["why"]) == ("torch", "the kernels are for CUDA devices")


def test_data_sets_are_there_damaged_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / "MNIST" / "raw").mkdir(parents=True)
    (tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(b"cut off")
    for part in ("train", "val"):
        (tmp_path / part / "cat").mkdir(parents=True)
        (tmp_path / "pets" / part / "dog").mkdir(parents=True)
    found = {row["dataset"]: row for row in checkup.find_data_sets(tmp_path)}
    states = {name: row["state"] for name, row in found.items()}
    assert states == {
        "digits": "yes",
        "mosaics": "yes",
        "mnist": "damaged",
        "fashion-mnist": "no",
        "cifar10": "damaged",
        "cifar100": "no",
        "folder, imagefolder": "yes",
        "[image]folder:pets": "yes",
        "CIFAR-10-C": "no",
    }
    assert "data_batch_1 is missing" in found["cifar10"]["remark"]
    assert found["folder, imagefolder"]["remark"] == "1 classes in train, 1 classes in val"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert not checkup.look_at_store(tmp_path / "runs")["writable"]
    tmp_path.chmod(0o700)


def test_a_store_in_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not checkup.look_at_store(tmp_path / "file")["writable"]


def test_bad_input_is_one_line_and_exit_2(refused, tmp_path: Path) -> None:
    refused(["doctor", "--data", str(tmp_path / "nowhere")], "which is no folder")


def test_every_extra_has_a_purpose() -> None:
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]
    assert set(extras) <= set(checkup.PURPOSES)


def completion(**settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zerosnet"]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings}, timeout=300)


def test_shells_complete_commands_and_options() -> None:
    words = {"_ZEROSNET_COMPLETE": "complete_bash", "COMP_WORDS": "zerosnet do", "COMP_CWORD": "1"}
    assert completion(**words).stdout.split() == ["doctor"]
    words |= {"COMP_WORDS": "zerosnet export --fo", "COMP_CWORD": "2"}
    assert completion(**words).stdout.split() == ["--format"]

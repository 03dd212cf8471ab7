"""Options are checked as soon as they are given, and without torch."""

import subprocess
import sys

import pytest

from zerosnet import InputError
from zerosnet.training import DataOptions, EngineOptions, Options
from zerosnet.training.options import StreamOptions


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (Options, {"device": "tpu"}, "device is 'tpu'; expected auto, cpu, cuda or cuda:N"),
        (DataOptions, {"device": "cuda:x"}, "device is 'cuda:x'"),
        (Options, {"replicas": 0}, "replicas is 0; expected 1 or more"),
        (Options, {"kernels": "fast"}, "kernels is 'fast'; expected one of native, torch"),
        (Options, {"log": ("paper",)}, "log is 'paper'; expected one of tensorboard, wandb, trackio"),
        (StreamOptions, {"workers": -1}, "workers is -1; expected 0 or more"),
        (StreamOptions, {"broken": "maybe"}, "broken is 'maybe'; expected one of fatal, skip"),
        (StreamOptions, {"decoder": "cpu"}, "decoder is 'cpu'; expected one of workers, gpu"),
        (EngineOptions, {"engine": "slurm"}, "engine is 'slurm'; expected one of local, ray"),
        (EngineOptions, {"address": "here:1"}, "address is 'here:1'; it is for --engine ray"),
    ],
)
def test_a_wrong_option_is_an_error_that_names_it(kind, wrong, message):
    with pytest.raises(InputError) as error:
        kind(**wrong)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "cuda:1"])
def test_the_form_of_a_device_is_checked_without_looking_for_it(name):
    assert Options(name).device == name


def test_a_torch_device_is_taken_by_its_name():
    import torch

    assert Options(torch.device("cuda", 1)).device == "cuda:1"  # type: ignore[arg-type]


def test_options_and_specs_are_made_without_torch():
    code = (
        "import sys; from zerosnet.training import Options, RunSpec, recipe, read_sweep;"
        "Options('cuda:1', kernels='native'); RunSpec('zerosnet20_opt', 'cifar10', recipe('paper', 'cifar10'), 1);"
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"

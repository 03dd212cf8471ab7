"""The start of a training: torch's compiler is not imported where it is not used, and the first step comes soon."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.best import best_of
from tests.kernels.host import needs_compiler

TRAIN = ("train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "quick", "--epochs", "1", "--device", "cpu")
COMPILER = """
import sys
print(sorted(name for name in sys.modules if name in ("torch._dynamo", "torch._inductor")))
"""
# the native step and evaluation, launched on a chip that computes nothing, and what else the native path imports
NATIVE = """
import torch, torch.cuda._utils
import zerosnet.kernels.elementwise, zerosnet.kernels.launch, zerosnet.training.engine
from pytest import MonkeyPatch
from tests.kernels.fake_chip import install
from zerosnet.kernels import NativePredictor, NativeStep
from zerosnet.models import create_model
chip = install(MonkeyPatch())
model = create_model("zerosnet20_opt").to(memory_format=torch.channels_last)
images = torch.randn(2, 3, 32, 32).contiguous(memory_format=torch.channels_last)
NativeStep(model, batch=2)(images, torch.zeros(1, 2, dtype=torch.long))
NativePredictor(model, batch=2)(images)
assert {"conv_inner", "conv_backward_outer"} <= {launch.name for launch in chip.launched}
"""


def printed(program: str, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@needs_compiler
def test_the_native_step_imports_no_compiler_of_torch():
    assert printed(NATIVE + COMPILER) == "[]\n"


@pytest.mark.parametrize("options", [["--deterministic"], []])
def test_a_training_on_the_cpu_imports_no_compiler_of_torch(tmp_path: Path, options: list[str]):
    program = f"import sys\nfrom zerosnet.cli.main import run\nassert run(sys.argv[1:]) == 0\n{COMPILER}"
    assert printed(program, *TRAIN, "--store", str(tmp_path), *options).splitlines()[-1] == "[]"


@pytest.mark.timing
def test_a_training_on_digits_takes_its_first_step_within_four_seconds(tmp_path: Path):
    stores = iter(range(9))

    def once() -> float:
        words = [*TRAIN, "--store", str(tmp_path / str(next(stores))), "--profile-start"]
        done = subprocess.run([sys.executable, "-m", "zerosnet", *words], capture_output=True, text=True, check=True)
        found = re.search(r"start: ([\d.]+) s", done.stderr)
        assert found is not None, done.stderr
        return float(found[1])

    assert best_of(9, once, 4.0) < 4.0

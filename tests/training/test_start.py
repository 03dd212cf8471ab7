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
# step and evaluation through our kernels, launched on a chip that computes nothing, and what else that path imports
NATIVE = """
import torch.cuda._utils
import zerosnet.kernels.launch, zerosnet.training.engine
from pytest import MonkeyPatch
from tests.training.native_path import step_and_evaluate
from zerosnet.training.fused.optimizer import Sgd
chip = step_and_evaluate(MonkeyPatch(), Sgd())
assert {"conv_inner", "conv_backward_outer"} <= {launch.name for launch in chip.launched}
"""


def printed(program: str, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@needs_compiler
def test_step_and_evaluation_through_our_kernels_import_no_compiler_of_torch():
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

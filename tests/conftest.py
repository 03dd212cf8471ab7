"""Tests side by side, `--dist loadfile`: a file stays in one process, and so does what shares a cluster or a GPU.

What a test draws depends neither on the tests before it nor on the day, and nothing fails because a machine is slow.
"""

import os
import random
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_TOGETHER = {"test_cluster.py": "ray", "test_runner_on_ray.py": "ray"}
_HAS_GPU = Path("/dev/nvidiactl").exists()

if "PYTEST_XDIST_WORKER" in os.environ:  # a core each; before torch is loaded, and for the processes that tests start
    os.environ.setdefault("OMP_NUM_THREADS", "1")

with suppress(ModuleNotFoundError):  # tests of the GPU run where there may be little more than torch and pytest
    from hypothesis import HealthCheck, settings

    settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("explore", settings.get_profile("same"), derandomize=False, max_examples=2000)
    settings.load_profile("same")  # `pytest --hypothesis-profile explore` looks for cases that nobody has seen


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid.partition("::")[0], config.rootpath)

    return Together(config, log)


@cache
def _group(file: str, root: Path) -> str:
    """The files with this name are run by one process."""
    if _HAS_GPU and "mark.gpu" in (root / file).read_text(encoding="utf-8"):
        return "gpu"
    return _TOGETHER.get(Path(file).name, file)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """The generators that all share begin anew with every test."""
    random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)

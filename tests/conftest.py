"""Tests side by side, `pytest -n 2`: a file stays in one process, and so does what shares a cluster or a GPU.

What a test draws depends neither on the tests before it nor on the day, and nothing fails because a machine is slow.
"""

import os
import random
import sys
from contextlib import suppress

import pytest

_TOGETHER = {"test_cluster.py": "ray", "test_runner_on_ray.py": "ray"}

if "PYTEST_XDIST_WORKER" in os.environ:  # a core each; before torch is loaded, and for the processes that tests start
    os.environ.setdefault("OMP_NUM_THREADS", "1")

with suppress(ModuleNotFoundError):  # tests of the GPU run where there may be little more than torch and pytest
    from hypothesis import HealthCheck, settings

    settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("explore", settings.get_profile("same"), derandomize=False, max_examples=2000)
    settings.load_profile("same")  # `pytest --hypothesis-profile explore` looks for cases that nobody has seen


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        file = str(item.path.relative_to(config.rootpath))
        group = "gpu" if item.get_closest_marker("gpu") else _TOGETHER.get(item.path.name, file)
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """The generators that all share begin anew with every test."""
    random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)

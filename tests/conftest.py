"""Tests side by side, `pytest -n 2`: a file stays in one process, and so does what shares a cluster or a GPU."""

import os

import pytest

_TOGETHER = {"test_cluster.py": "ray", "test_runner_on_ray.py": "ray"}

if "PYTEST_XDIST_WORKER" in os.environ:  # a core each; before torch is loaded, and for the processes that tests start
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        file = str(item.path.relative_to(config.rootpath))
        group = "gpu" if item.get_closest_marker("gpu") else _TOGETHER.get(item.path.name, file)
        item.add_marker(pytest.mark.xdist_group(group))

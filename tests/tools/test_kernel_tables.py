"""Numbers about our own kernels."""

from copy import deepcopy

import pytest
from tools.markdown_tables import benchmark

from tools import kernel_tables


def test_the_part_of_the_bandwidth_is_that_of_the_newest_version(monkeypatch):
    record = deepcopy(benchmark("kernel-versions"))
    records = {"kernel-versions": record, "kernels": benchmark("kernels")}
    monkeypatch.setattr(kernel_tables, "benchmark", records.__getitem__)
    before = kernel_tables._part_of_bandwidth(10)
    ten = next(one for one in record["versions"][-1]["steps"] if one["replicas"] == 10)
    assert ten["model"] == "zerosnet56_opt"
    assert before * ten["ms"] * 4.3e9 == pytest.approx(15.56e9, rel=1e-3), "bytes of a step"
    record["versions"][0]["steps"].clear()
    assert kernel_tables._part_of_bandwidth(10) == before
    ten["ms"] *= 2
    assert kernel_tables._part_of_bandwidth(10) == pytest.approx(before / 2)

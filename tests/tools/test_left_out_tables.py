"""Numbers about the law, from its networks."""

import numpy as np
import pytest

from tools import left_out_tables as tables


def test_the_mean_of_alike_networks_leaves_each_network_out():
    accuracy, kinds = np.array([90.0, 92.0, 80.0, 84.0]), np.array([True, True, False, False])
    assert tables.mean_of_others(accuracy, kinds).tolist() == [92, 90, 84, 80]


def test_the_law_beats_the_roots_among_consistent_schemes_with_constant_steps_too():
    count, law, roots, constant = tables.among_consistent()
    assert 40 < count < len(tables.load_law().networks)
    assert law < 1 < roots < constant


def test_leave_one_out_errors_are_those_of_the_table():
    found = tables.left_out()
    assert tables.rms(found["root condition"][1].tolist()) == pytest.approx(
        float(tables.VALUES["root condition error"]()), abs=0.05
    )
    assert tables.rms(found["a constant"][1].tolist()) == pytest.approx(
        float(tables.VALUES["constant error"]()), abs=0.05
    )

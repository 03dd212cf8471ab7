"""The bytes that a training step must move, counted."""

import pytest
from benchmarks.memory_floor import block_units, bottleneck_units


@pytest.mark.parametrize(("steps", "basic", "bottleneck"), [(1, 17, 56), (2, 19.5, 66), (3, 22, 76)])
def test_a_bottleneck_moves_more_than_three_times_the_bytes_of_a_basic_block(steps, basic, bottleneck):
    assert (block_units(steps), bottleneck_units(steps)) == (basic, bottleneck)

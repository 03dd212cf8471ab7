"""The bytes that a training step must move, counted."""

import pytest
from benchmarks.memory_floor import block_units, bottleneck_units


@pytest.mark.parametrize(("steps", "basic", "bottleneck"), [(1, 18, 60), (2, 21, 72), (3, 24, 84)])
def test_a_bottleneck_moves_more_than_three_times_the_bytes_of_a_basic_block(steps, basic, bottleneck):
    assert (block_units(steps), bottleneck_units(steps)) == (basic, bottleneck)

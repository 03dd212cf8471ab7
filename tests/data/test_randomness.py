import torch
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.data import stream, stream_seed


def test_stream_seeds_are_the_same_on_every_machine():
    assert stream_seed(1, "shuffle", 0) == 4026945476534407487
    assert stream_seed(1, "shuffle", 1) == 7061252234336077262


@given(st.integers(0, 2**63), st.text(max_size=9), st.integers(0, 10**6))
def test_stream_seeds_have_63_bits(seed, purpose, epoch):
    assert 0 <= stream_seed(seed, purpose, epoch) < 2**63


def test_purposes_and_positions_have_streams_of_their_own():
    keys = [(seed, purpose, epoch) for seed in range(10) for purpose in ("crop", "flip") for epoch in range(10)]
    draws = {tuple(torch.rand(2, generator=stream(*key)).tolist()) for key in keys}
    assert len(draws) == len(keys)


def test_a_stream_neither_reads_nor_moves_the_global_generator():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(1, generator=stream(0, "shuffle", 0))
    assert torch.equal(torch.rand(3), expected)

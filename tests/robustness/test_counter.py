import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.robustness.perturbations.counter import counted_uniform, mix


def numbers(seed: int, *position: int, count: int = 4096) -> torch.Tensor:
    return counted_uniform(torch.tensor([seed]), torch.tensor(position), count)[0]


def test_mix_agrees_with_python_integers():
    for value in (0, 1, 0xDEADBEEF, 2**32 - 1):
        x = value
        x ^= x >> 16
        x = x * 0x7FEB352D % 2**32
        x ^= x >> 15
        x = x * 0x846CA68B % 2**32
        x ^= x >> 16
        assert mix(torch.tensor([value])).item() == x


@given(st.integers(0, 2**62), st.integers(0, 10**6), st.integers(0, 10**6))
def test_numbers_are_uniform(seed, epoch, step):
    drawn = numbers(seed, epoch, step)
    assert drawn.min() >= 0 and drawn.max() < 1
    counts = torch.histc(drawn, bins=16, min=0, max=1)
    assert ((counts - 256) ** 2 / 256).sum() < 60  # chi-square with 15 degrees of freedom: chance 2e-7
    neighbours = torch.corrcoef(torch.stack([drawn[1:], drawn[:-1]]))[0, 1]
    assert neighbours.abs() < 0.1


def test_streams_differ_in_every_part_of_their_name():
    names = [(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (1 + 2**32, 0, 0)]
    drawn = torch.stack([numbers(*name) for name in names])
    assert (torch.corrcoef(drawn) - torch.eye(len(names))).abs().max() < 0.08


def test_a_row_belongs_to_its_seed_alone():
    together = counted_uniform(torch.tensor([5, 7, 9]), torch.tensor([3, 4]), 100)
    assert torch.equal(together[1], numbers(7, 3, 4, count=100))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_numbers_are_bit_identical_on_the_gpu():
    seeds, position = torch.tensor([1, 2**40 + 3]), torch.tensor([17, 389])
    there = counted_uniform(seeds.cuda(), position.cuda(), 10_000)
    assert torch.equal(there.cpu(), counted_uniform(seeds, position, 10_000))

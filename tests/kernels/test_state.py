"""A state in 24 bits: bf16 and a signed byte."""

import ctypes

import pytest
import torch
from tests.kernels.host import CHIP, compile_for_host, function_of, needs_compiler, read_source
from tests.kernels.reference import split

from zerosnet.kernels.interface import State


def normal(scale=1.0):
    return scale * torch.randn(20_000, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e15])
def test_24_bits_keep_a_state_to_one_part_in_32_768(scale):
    y = normal(scale)
    state = split(y)
    assert torch.equal(state.high, y.bfloat16())
    assert ((state.value - y).abs() <= y.abs() / 2**15).all()


def test_a_number_between_two_of_bf16_keeps_its_low_byte_in_range():
    even, odd = torch.tensor([1 + 2**-8]), torch.tensor([1 + 3 * 2**-8])  # rounded down, rounded up
    assert split(even).low.item() == 127 and split(odd).low.item() == -128
    assert split(odd).value == odd and abs(split(even).value - even) <= 2**-15


def test_a_low_part_of_zero_changes_nothing():
    high = normal().bfloat16()
    assert torch.equal(State(high, torch.zeros(high.shape, dtype=torch.int8)).value, high.float())


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 0.0])
def test_infinities_and_nan_stay_what_they_are(number):
    y = torch.tensor([number])
    assert torch.equal(split(y).value.nan_to_num(7.0), y.nan_to_num(7.0))
    for low in (-128, 127):
        noted = State(torch.tensor([float("nan")]).bfloat16(), torch.tensor([low], dtype=torch.int8))
        assert noted.value.isnan().all()


ON_HOST = """
inline int min(int a, int b) { return a < b ? a : b; }
inline float __uint_as_float(unsigned bits) { Word v; v.bits = bits; return v.number; }
inline unsigned __float_as_uint(float number) { Word v; v.number = number; return v.bits; }
inline unsigned pick_bytes(unsigned word, unsigned selector) {
  unsigned picked = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned from = selector >> 4 * i & 15, byte = from == 4 ? 0 : word >> 8 * (from & 3) & 255;
    picked |= (from & 8 ? (byte >> 7) * 255 : byte) << 8 * i;
  }
  return picked;
}
"""
CALLS = """
extern "C" float c_join(const unsigned* words, const unsigned* bytes, int j) {
  return join(*(const unsigned (*)[SPAN / 2])words, *(const unsigned (*)[SPAN / 4])bytes, j);
}
extern "C" unsigned c_low_byte(float v, float top) { return low_byte(v, top); }
"""


@needs_compiler
@pytest.mark.parametrize(("channels", "width", "span"), [(16, 32, 4), (64, 8, 8)])
def test_the_kernels_split_and_join_a_state_as_the_plain_model_does(tmp_path, channels, width, span):
    functions = [function_of(name, read_source("common.cuh")) for name in ("join", "low_byte")]
    source = [read_source("layout.cuh"), CHIP, ON_HOST, *functions, CALLS]
    library = compile_for_host("\n".join(source), tmp_path, channels, width)
    library.c_join.restype = ctypes.c_float
    y = torch.cat([normal()[:100], torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 0.0])])
    state = split(y)
    value = state.value
    for start in range(0, len(y) - span + 1, span):
        high, low = state.high[start : start + span].clone(), state.low[start : start + span].clone()
        for j in range(span):
            found = library.c_join(ctypes.c_void_p(high.data_ptr()), ctypes.c_void_p(low.data_ptr()), j)
            assert found == value[start + j]
            byte = library.c_low_byte(ctypes.c_float(y[start + j]), ctypes.c_float(high[j])) >> 8 & 255
            assert byte == int(low[j]) & 255

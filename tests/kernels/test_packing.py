"""Weights on their way into the kernels' layout, gradients on their way out, compiled as plain C++. No GPU needed."""

import ctypes

import pytest
import torch
from tests.kernels.host import CHIP, compile_for_host, needs_compiler, read_source
from torch.nn import functional as F

from zerosnet.kernels.cuda import POINTWISE_THREADS, _strides

pytestmark = needs_compiler

EVERY_THREAD = """
extern "C" void c_pack_weights(const unsigned long long* addresses, bf16* forward, bf16* backward, int replicas,
                               int in_stride, int tap_stride, int blocks, int convolutions) {
  for (blockIdx.y = 0; blockIdx.y < convolutions; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
      for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++)
        pack_weights(addresses, forward, backward, replicas, in_stride, tap_stride);
}
extern "C" void c_add_weight_parts(const float* parts, float* gradient, int replicas, int count, int in_stride,
                                   int tap_stride, int blocks) {
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
    for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++)
      add_weight_parts(parts, gradient, replicas, count, in_stride, tap_stride);
}
extern "C" int c_channel_of_row(int n) { return channel_of_row(n); }
extern "C" int c_part_tile(int tap, int in_block, int out_tile) { return part_tile(tap, in_block, out_tile); }
extern "C" int c_part_tap(int i) { return part_tap(i); }
extern "C" int c_part_in(int i) { return part_in(i); }
extern "C" int c_part_out(int i) { return part_out(i); }
"""
REPLICAS = 3


@pytest.fixture(scope="module", params=[(16, 32), (32, 16), (64, 8)], ids=lambda w: f"{w[0]} channels")
def program(request, tmp_path_factory):
    kernels = read_source("pointwise.cu").partition("// Weights in memory")[2]
    parts = [read_source("layout.cuh"), CHIP, "//" + kernels, EVERY_THREAD.replace("THREADS", str(POINTWISE_THREADS))]
    return request.param[0], compile_for_host("\n".join(parts), tmp_path_factory.mktemp("packing"), *request.param)


def address(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def blocks_for(channels, each=1):
    """Thread blocks, where a thread has so many weights."""
    return -(-REPLICAS * 9 * channels**2 // (each * POINTWISE_THREADS))


def weights_like(channels, layout, count=2):
    generator = torch.Generator().manual_seed(0)
    shape = (REPLICAS * channels, channels, 3, 3)
    return [torch.randn(shape, generator=generator).contiguous(memory_format=layout) for _ in range(count)]


LAYOUTS = [torch.contiguous_format, torch.channels_last]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_packed_weights_are_those_of_the_convolution_and_of_its_adjoint(program, layout):
    channels, library = program
    weights = weights_like(channels, layout)
    addresses = torch.tensor([w.data_ptr() for w in weights], dtype=torch.int64)
    forward, backward = (torch.zeros(2, REPLICAS, 9, channels, channels, dtype=torch.bfloat16) for _ in range(2))
    arguments = [address(t) for t in (addresses, forward, backward)]
    library.c_pack_weights(*arguments, REPLICAS, *_strides(weights[0]), blocks_for(channels, 8), len(weights))
    channel_of = torch.tensor([library.c_channel_of_row(n) for n in range(channels)])
    x = torch.randn(1, REPLICAS * channels, 5, 5, generator=torch.Generator().manual_seed(1)).double()
    for i, weight in enumerate(weights):
        exact = weight.bfloat16().double()
        for packed, expected in (
            (forward[i], F.conv2d(x, exact, padding=1, groups=REPLICAS)),
            (backward[i], F.conv_transpose2d(x, exact, padding=1, groups=REPLICAS)),
        ):
            # a row of a tap gives the channel that `channel_of_row` names
            rows = packed.double().permute(0, 2, 3, 1).reshape(REPLICAS * channels, channels, 3, 3)
            found = F.conv2d(x, rows, padding=1, groups=REPLICAS).unflatten(1, (REPLICAS, channels))
            ordered = torch.empty_like(found)
            ordered[:, :, channel_of] = found
            torch.testing.assert_close(ordered.flatten(1, 2), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_parts_of_a_weight_gradient_are_added_up_into_the_weights_layout(program, layout):
    channels, library = program
    (gradient,) = weights_like(channels, layout, 1)
    gradient.fill_(float("nan"))
    parts = torch.randn(REPLICAS, 5, 9 * channels**2, generator=torch.Generator().manual_seed(2))
    arguments = (address(parts), address(gradient), REPLICAS, parts.shape[1], *_strides(gradient))
    library.c_add_weight_parts(*arguments, blocks_for(channels))
    taps, ins, outs = (torch.tensor([place(i) for i in range(parts.shape[2])]) for place in places(library))
    found = gradient.view(REPLICAS, channels, channels, 3, 3)[:, outs, ins, taps // 3, taps % 3]
    torch.testing.assert_close(found, parts.sum(1), rtol=1e-5, atol=1e-5)


def places(library):
    return library.c_part_tap, library.c_part_in, library.c_part_out


def test_threads_store_what_they_hold_of_a_weight_gradient_side_by_side(program):
    """A tile is a result of the tensor cores: a thread has rows lane / 4 and + 8, columns 2 (lane % 4) and + 1."""
    channels, library = program
    found = set()
    for tap in range(9):
        for in_block in range(channels // 16):
            for out_tile in range(channels // 8):
                start = library.c_part_tile(tap, in_block, out_tile)
                for i in range(128):
                    lane, j = divmod(i, 4)
                    weight = (tap, 16 * in_block + lane // 4 + j // 2 * 8, 8 * out_tile + 2 * (lane % 4) + j % 2)
                    assert tuple(place(start + i) for place in places(library)) == weight
                    found.add(weight)
    assert len(found) == 9 * channels**2

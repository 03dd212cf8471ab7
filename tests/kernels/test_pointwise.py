"""The kernels that work on one place at a time, compiled as plain C++ and run thread by thread. No GPU needed."""

import ctypes
import re

import pytest
import torch
from tests.kernels.host import CHIP, compile_for_host, function_of, needs_compiler, read_source
from tests.kernels.reference import ReferenceKernels

from zerosnet.kernels.cuda import POINTWISE_THREADS
from zerosnet.kernels.interface import NormGradient, Slope, StateGradient

pytestmark = needs_compiler

EVERY_THREAD = """
#define CALL(name, parameters, arguments)                                            \\
  extern "C" void c_##name parameters {                                              \\
    for (blockIdx.y = 0; blockIdx.y < REPLICAS; blockIdx.y++)                        \\
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                     \\
        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) name arguments;  \\
  }
#define GRADIENT(name)                                                                                    \\
  CALL(name,                                                                                              \\
       (const bf16* d, const bf16* y, const float* table, const float* weights, const bf16* g0,           \\
        const bf16* g1, const bf16* g2, const bf16* g3, const bf16* even, int has_even, bf16* out,        \\
        float* dots, int batch),                                                                          \\
       (d, y, table, weights, g0, g1, g2, g3, even, has_even, out, dots, batch))
GRADIENT(state_gradient_0) GRADIENT(state_gradient_1) GRADIENT(state_gradient_2) GRADIENT(state_gradient_3)
GRADIENT(state_gradient_4) GRADIENT(history_gradient_0) GRADIENT(history_gradient_1) GRADIENT(history_gradient_2)
GRADIENT(history_gradient_3) GRADIENT(history_gradient_4)
CALL(take_even, (const bf16* x, bf16* out, int batch), (x, out, batch))
CALL(activated_patches, (const bf16* x, const float* norm, bf16* out, int batch), (x, norm, out, batch))
CALL(gather_patches, (const bf16* columns, const bf16* x, bf16* out, float* floats, const float* norm, int batch),
     (columns, x, out, floats, nullptr, norm, floats, floats, floats, batch, 1))
CALL(pool_backward, (const float* gradient, const bf16* x, bf16* out, float* floats, const float* norm, int batch),
     (gradient, x, out, floats, nullptr, norm, floats, floats, floats, batch, 1))
extern "C" void set_grid(int blocks) { gridDim.x = blocks; }
"""
WITHOUT_SUMS = """
struct GradientNorm { const float* norm; float *gamma, *beta, *table; };
#define store_chunk_sums(...)
#define is_last_block(...) false
#define finish_gradient_norm(...)
"""
ACTIVATE = "inline float activate(float x, float scale, float shift) { return fmaxf(fmaf(x, scale, shift), 0.f); }\n"
REPLICAS, BATCH, BLOCKS = 2, 3, 5


@pytest.fixture(scope="module", params=[(16, 32), (32, 16), (64, 8)], ids=lambda w: f"{w[0]} channels")
def width(request, tmp_path_factory):
    edges = read_source("edges.cu")
    sums = re.search(r"^struct GradientSums .*?^};$", edges, re.M | re.S).group()
    load_chunk, parts = function_of("load_chunk", read_source("common.cuh")), [WITHOUT_SUMS, sums]
    parts += [function_of(n, edges) for n in ("take_even", "activated_patches", "gather_patches", "pool_backward")]
    sizes = f"#define THREADS {POINTWISE_THREADS}\n#define EDGE_THREADS THREADS\n#define REPLICAS {REPLICAS}\n"
    sizes += "#define AT_ONCE 4\n"
    begin = [read_source("layout.cuh"), CHIP, ACTIVATE, load_chunk, read_source("pointwise.cu"), sizes]
    library = compile_for_host(
        "\n".join([*begin, *parts, EVERY_THREAD]), tmp_path_factory.mktemp("pointwise"), *request.param
    )
    library.set_grid(BLOCKS)
    return library, ReferenceKernels(*request.param, REPLICAS, BATCH, torch.device("cpu"))


def noise(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def call(function, *arguments):
    function(*(ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor) else a for a in arguments))


def full(model, seed):
    return noise(REPLICAS, BATCH, model.width, model.width, model.channels, seed=seed).bfloat16()


@pytest.mark.parametrize("with_even", [False, True])
@pytest.mark.parametrize("sloped", [True, False])
@pytest.mark.parametrize("terms", range(5))
def test_the_gradient_of_a_state_is_that_of_the_plain_model(width, terms, sloped, with_even):
    library, model = width
    later, dyhat, y = [full(model, n) for n in range(4)], full(model, 4), full(model, 5)
    table, weights = noise(REPLICAS, 4, model.channels, seed=6), noise(REPLICAS, 4, seed=7)
    even = model.take_even(full(model, 8)) if with_even else None
    out = torch.full_like(y, float("nan"))
    name = f"c_{'state' if sloped else 'history'}_gradient_{terms}"
    through = (out, 0) if even is None else (even, 1)
    call(library[name], dyhat, y, table, weights, *later, *through, out, weights, BATCH)
    expected = torch.empty(y.shape, dtype=torch.float64)
    slope = Slope(dyhat.double(), y.double(), table.double()) if sloped else None
    wide = [term.double() for term in later[:terms]]
    added = None if even is None else even.double()
    model.state_gradient(StateGradient(slope, weights.double(), wide, expected, even=added))
    torch.testing.assert_close(out.double(), expected, rtol=2**-7, atol=1e-5)


def test_every_second_pixel_is_taken(width):
    library, model = width
    x = full(model, 0)
    expected = model.take_even(x)
    out = torch.full_like(expected, float("nan"))
    call(library.c_take_even, x, out, BATCH)
    assert torch.equal(out, expected)


def test_patches_are_those_of_the_activated_state(width):
    library, model = width
    x, norm = full(model, 0), noise(REPLICAS, 4, model.channels, seed=1)
    expected = model.patches(x.double(), norm.double())
    out = torch.full(expected.shape, float("nan"), dtype=torch.bfloat16)
    call(library.c_activated_patches, x, norm, out, BATCH)
    torch.testing.assert_close(out.double(), expected, rtol=2**-7, atol=1e-5)


def test_gradients_through_patches_and_pool_are_masked_by_the_relu(width):
    library, model = width
    x, norm = full(model, 0), noise(REPLICAS, 4, model.channels, seed=1)
    empty = [torch.empty(REPLICAS * model.channels).double() for _ in range(2)]
    gradient_of = NormGradient(norm.double(), *empty, torch.empty_like(norm).double())
    columns = noise(*model.patches(x, norm).shape, seed=2).bfloat16()
    pooled = noise(REPLICAS, BATCH, model.channels, seed=3)
    for function, gradient, expected in (
        (library.c_gather_patches, columns, model.gather_patches(columns.double(), x.double(), gradient_of, True)),
        (library.c_pool_backward, pooled, model.pool_backward(pooled.double(), x.double(), gradient_of, True)),
    ):
        out = torch.full_like(x, float("nan"))
        call(function, gradient, x, out, norm, norm, BATCH)
        torch.testing.assert_close(out.double(), expected, rtol=2**-7, atol=1e-5)

"""The kernels around the network's step, compiled as plain C++ and held to plain torch bit by bit. No GPU needed."""

import ctypes
import re
from types import SimpleNamespace

import pytest
import torch
from tests.kernels.host import compile_for_host, needs_compiler, read_source
from torch import nn

from zerosnet.data import gather
from zerosnet.kernels import native_gather
from zerosnet.training.fused.optimizer import Adam, Optimizer, Sgd

pytestmark = needs_compiler

CHIP = """#include <cmath>
#include <cstddef>
struct Index { int x, y; };
static Index blockIdx, threadIdx;
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { volatile float product = a * b; return product; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
"""
TYPES = {
    "unsigned char": torch.uint8,
    "signed char": torch.int8,
    "long long": torch.int64,
    "int": torch.int32,
    "float": torch.float32,
}


@pytest.fixture
def on_host(tmp_path, monkeypatch):
    """Let the launches run here, thread by thread; types, and places that are only read, are checked."""
    text = read_source("elementwise.cu")
    found = re.findall(r'extern "C" __global__ void (\w+)\((.*?)\) \{', text, re.DOTALL)
    signatures = {name: [" ".join(one.split()) for one in parameters.split(",")] for name, parameters in found}
    loops = "".join(
        f'extern "C" void run_{name}(int blocks, {", ".join(parameters)}) {{\n'
        "  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)\n"
        f"    for (threadIdx.x = 0; threadIdx.x < 256; threadIdx.x++) "
        f"{name}({', '.join(one.split()[-1].lstrip('*') for one in parameters)});\n}}\n"
        for name, parameters in signatures.items()
    )
    library = compile_for_host(CHIP + text + loops, tmp_path, 16, 32)

    def launch(name, grid, threads, shared, arguments):
        assert threads == 256 and grid[1] == 1 and shared == 0
        values = []
        for parameter, argument in zip(signatures[name], arguments, strict=True):
            kind, pointer = re.fullmatch(r"(?:const )?([\w ]+?)(\*?) \w+", parameter).groups()
            if pointer:
                assert argument.dtype == TYPES[kind] and argument.is_contiguous(), (name, parameter)
                values.append(ctypes.c_void_p(argument.data_ptr()))
            else:
                assert type(argument) is {"int": int, "double": float}[kind], (name, parameter)
                values.append(ctypes.c_int(argument) if kind == "int" else ctypes.c_double(argument))
        getattr(library, f"run_{name}")(ctypes.c_int(grid[0]), *values)

    program = SimpleNamespace(launch=launch)
    monkeypatch.setattr("zerosnet.kernels.elementwise.elementwise_program", lambda device: program)


@pytest.mark.parametrize("cropped", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_batches_equal_those_of_plain_torch(on_host, channels, cropped, flipped):
    rng = torch.Generator().manual_seed(1)
    images = torch.randint(256, (20, channels, 9, 7), generator=rng, dtype=torch.uint8)
    index = torch.randint(20, (3, 5), generator=rng)
    dy, dx = (torch.randint(-4, 5, (3, 5), generator=rng, dtype=torch.int8) if cropped else None for _ in range(2))
    flip = torch.randint(2, (3, 5), generator=rng).bool() if flipped else None
    mean, std = torch.rand(channels, generator=rng), torch.rand(channels, generator=rng) + 0.1
    expected = gather(images, index, dy, dx, flip, mean, std, channels_last=True)
    found = native_gather(images, index, dy, dx, flip, mean, std)
    assert torch.equal(found, expected) and found.stride() == expected.stride()


def test_one_image_for_all_replicas_may_be_given_by_an_expanded_index(on_host):
    images = torch.arange(4 * 3 * 2 * 2, dtype=torch.uint8).view(4, 3, 2, 2)
    index, ones = torch.arange(4).expand(2, -1), torch.ones(3)
    expected = gather(images, index, None, None, None, ones, ones, channels_last=True)
    assert torch.equal(native_gather(images, index, None, None, None, ones, ones), expected)


@pytest.mark.parametrize("rule", [Sgd(0.9), Sgd(0.9, nesterov=True), Sgd(0.0), Adam(0.9, 0.99)], ids=repr)
def test_updates_equal_those_of_plain_torch(on_host, rule):
    optimizers = [optimizer(rule, native) for native in (False, True)]
    rng = torch.Generator().manual_seed(2)
    for step in range(4):
        lr = torch.rand(3, generator=rng, dtype=torch.float64)
        alive = torch.tensor([True, step < 2, True])
        gradients = [torch.randn(p.shape, generator=rng) for p in optimizers[0].flat.views(optimizers[0].flat.values)]
        if step == 3:
            gradients[0][2] = float("nan")  # of the replica that is dead
        for one in optimizers:
            one.update(gradients, lr, alive)
    plain, native = optimizers
    exactly = (
        {"rtol": 0, "atol": 0} if isinstance(rule, Sgd) else {"rtol": 2e-6, "atol": 1e-7}
    )  # MKL rounds roots freely
    torch.testing.assert_close(native.flat.values, plain.flat.values, **exactly)
    torch.testing.assert_close(native.buffers, plain.buffers, **exactly)


def optimizer(rule, native, device="cpu"):
    rng = torch.Generator().manual_seed(1)
    shapes = {"conv": (6, 4, 3, 3), "norm": (9,), "alpha": (3,), "fc": (30, 5)}
    parameters = {name: nn.Parameter(torch.randn(shape, generator=rng).to(device)) for name, shape in shapes.items()}
    decays = [[1e-4, 1e-3, 0.1], [0.0] * 3, [0.0, 1e-2, 0.0]]
    groups = {"conv": 0, "norm": 2, "alpha": 1, "fc": 0}
    made = Optimizer(parameters, rule, replicas=3, decays=decays, groups=groups, flat_update=True)
    made.native = native
    return made

"""What runs where: the table of shapes and chips, grids, and the bytes of a step."""

from contextlib import nullcontext
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import pytest
import torch
from benchmarks.memory_floor import block_units, step_bytes
from tests.kernels.reference import ReferenceKernels

from zerosnet.kernels import (
    CHIPS,
    reason_against,
    reason_against_compiler,
    reason_against_device,
    reason_against_network,
    support,
)
from zerosnet.kernels import compile as compile_module
from zerosnet.kernels.chips import WIDTHS
from zerosnet.kernels.compile import ELEMENTWISE, KERNELS, PARTS, PIECES, PRODUCTS, program, source
from zerosnet.kernels.interface import Slope, StateGradient
from zerosnet.kernels.sizes import Sizes
from zerosnet.kernels.support import most_shared_memory
from zerosnet.models import create_model

HOPPER_SHARED = 232_448  # bytes that a block may have on compute capability 9.0


def test_the_cpu_has_no_kernels_and_says_so():
    assert "no CUDA device" in reason_against_device(torch.device("cpu"))
    model = create_model("zerosnet20_opt")
    assert "no CUDA device" in reason_against(model, (32, 32), torch.bfloat16, torch.device("cpu"))


@pytest.mark.parametrize(
    "name",
    [
        *("zerosnet20_opt", "zerosnet56_tra", "zerosnet20_stable", "preresnet32", "lmresnet44"),
        *("zerosnet56_simplex", "preresnet56_gains", "preresnet56_scaled"),
        *("preresnet56_x0", "streams56", "streams20_sinkhorn"),
    ],
)
def test_cifar_networks_with_basic_blocks_are_served(name):
    assert reason_against_network(create_model(name, in_chans=1), (32, 32), torch.bfloat16) is None


@pytest.mark.parametrize(
    ("name", "options", "size", "dtype", "why"),
    [
        ("zerosnet164_opt", {}, (32, 32), torch.bfloat16, "bottleneck"),
        ("zerosnet18_opt", {}, (32, 32), torch.bfloat16, "CIFAR-size"),
        ("zerosnet20_opt", {}, (28, 28), torch.bfloat16, "28 x 28"),
        ("zerosnet20_opt", {}, (32, 32), None, "bf16"),
        ("zerosnet20_opt", {"in_chans": 4}, (32, 32), torch.bfloat16, "3 channels"),
        ("zerosnet20", {"scheme": "adams-bashforth(2)"}, (32, 32), torch.bfloat16, "betas"),
        ("zerosnet32", {"scheme": "1/5,1/5,1/5,1/5,1/5;3"}, (32, 32), torch.bfloat16, "4 steps"),
        ("zerosnet20_opt", {"stage_change": "project-shared"}, (32, 32), torch.bfloat16, "shared"),
    ],
)
def test_other_networks_are_refused_with_the_reason(name, options, size, dtype, why):
    assert why in reason_against_network(create_model(name, **options), size, dtype)


def test_every_chip_of_the_table_has_kernels_for_every_shape_of_a_network():
    assert all(set(chip.shapes) == set(WIDTHS) for chip in CHIPS)


def a_gpu(monkeypatch, *, capability, shared=HOPPER_SHARED):
    """Let torch find a GPU of this kind."""
    found = SimpleNamespace(major=capability[0], minor=capability[1], name="GPU", shared_memory_per_block_optin=shared)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: found)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    monkeypatch.setattr(torch.cuda, "device", lambda index: nullcontext())
    return torch.device("cuda", 0)


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (8, 9), (10, 0)])
def test_a_chip_without_kernels_is_named_in_one_line(monkeypatch, capability):
    why = reason_against_device(a_gpu(monkeypatch, capability=capability))
    assert (
        why
        == f"GPU has compute capability {capability[0]}.{capability[1]}; there are kernels for Hopper (H100, H200) 9.0"
    )


def test_a_chip_without_kernels_for_a_shape_has_none(monkeypatch):
    (hopper,) = support.CHIPS
    without = replace(hopper, shapes={shape: how for shape, how in hopper.shapes.items() if shape != (32, 16)})
    monkeypatch.setattr(support, "CHIPS", (without,))
    why = reason_against_device(a_gpu(monkeypatch, capability=(9, 0)))
    assert why == "there are no kernels for 32 channels of 16 x 16 pixels on Hopper (H100, H200)"


def test_a_chip_with_too_little_shared_memory_has_no_kernels(monkeypatch):
    assert reason_against_device(a_gpu(monkeypatch, capability=(9, 0))) is None
    why = reason_against_device(a_gpu(monkeypatch, capability=(9, 0), shared=100_000))
    assert "100000 bytes of shared memory" in why and "\n" not in why


@pytest.mark.parametrize(
    "error",
    [
        OSError("Could not find any NVRTC library"),
        RuntimeError("kernel.cu(3): error:\n  expected a ';'\n\n1 error"),
        ImportError("cannot import name '_nvrtc_compile'"),
        AttributeError("'_CudaKernel' object has no attribute 'set_shared_memory_config'"),
        TypeError("_nvrtc_compile() got an unexpected keyword argument"),
        KeyError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_compiler_that_is_missing_or_fails_is_one_line(monkeypatch, error):
    def fail(*arguments):
        raise error

    device = a_gpu(monkeypatch, capability=(9, 0))
    monkeypatch.setattr(compile_module, "compile_unit", fail)
    monkeypatch.setattr(compile_module, "_UNDER_WAY", {})
    program.cache_clear()
    why = reason_against(create_model("zerosnet20_opt"), (32, 32), torch.bfloat16, device)
    assert why == reason_against_compiler(device)
    assert why.startswith("NVRTC could not build the kernels: ") and "\n" not in why
    assert " ".join(str(error).split()) in why and why.rstrip() == why


def test_every_source_is_part_of_a_program():
    there = {path.name for path in (files("zerosnet.kernels") / "source").iterdir()}
    assert there == {*PARTS, *KERNELS, *PRODUCTS.values(), ELEMENTWISE}
    assert set(PRODUCTS) == {channels for channels, _ in WIDTHS}
    assert {name for names in PIECES.values() for name in names} == set(KERNELS)


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_the_table_says_what_the_programs_multiply_by(chip):
    for (channels, _), how in chip.shapes.items():
        assert how.startswith("wgmma") == ("wgmma.mma_async" in source(channels))


def test_the_products_of_the_recursion_are_with_the_state_of_its_slope():
    kernels = ReferenceKernels(16, 32, 1, 1, torch.device("cpu"))
    states, table, weights = [kernels.activation() for _ in range(4)], kernels.table(), torch.ones(1, 4)
    with pytest.raises(AssertionError, match="one state"):
        kernels.state_gradient(StateGradient(Slope(*states[:2], table), weights, (), states[2], dots_with=states[3]))


def test_the_hungriest_kernel_fits_the_shared_memory_of_a_hopper_block():
    assert most_shared_memory() <= HOPPER_SHARED


@pytest.mark.parametrize(("channels", "width"), WIDTHS)
@pytest.mark.parametrize("replicas", [1, 3, 10, 30, 32, 200])
@pytest.mark.parametrize("batch", [1, 7, 100, 128])
def test_blocks_share_out_the_images(channels, width, replicas, batch):
    sizes = Sizes(channels, width, replicas, batch, multiprocessors=132)
    assert 1 <= sizes.forward_blocks <= batch
    of_edges = min(-(-4 * sizes.multiprocessors // replicas), batch)
    assert sizes.sums >= max(sizes.forward_blocks, sizes.backward_blocks, of_edges)
    assert 1 <= sizes.backward_blocks <= batch
    # no block goes without work
    rounds = -(-batch // sizes.backward_blocks)
    assert sizes.backward_blocks * (rounds - 1) < batch


def test_bytes_of_a_block_are_those_of_its_kernels():
    # conv1 2, conv2 (5 + 3d) / 2, backward of conv2 3, of conv1 4, recursion 3 + d
    assert block_units(3) == 2 + 7 + 3 + 4 + 6
    assert block_units(1) == 2 + 4 + 3 + 4 + 4


def test_bytes_of_a_step_grow_with_depth_and_replicas():
    one, ten = (step_bytes(create_model("zerosnet56_opt", replicas=k, seed=0), batch=128) for k in (1, 10))
    assert ten == 10 * one
    unit = 128 * 32 * 32 * 16 * 2
    assert one == pytest.approx(unit * 22 * 9 * (1 + 1 / 2 + 1 / 4), rel=0.15)
    assert step_bytes(create_model("zerosnet20_opt"), batch=128) < one / 2

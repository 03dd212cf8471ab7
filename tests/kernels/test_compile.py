"""The sources as NVRTC sees them, for the chips that have kernels. No GPU needed, only the compiler."""

import struct

import pytest
import torch
from tests.kernels.fake_chip import signatures
from tests.kernels.host import needs_compiler

from zerosnet.kernels.compile import compile_elementwise, compile_program, instruction_set
from zerosnet.kernels.native import WIDTHS
from zerosnet.kernels.support import CHIPS, DECLARED

pytestmark = needs_compiler

RESERVED = 1024  # bytes a block, by the system


@pytest.fixture(autouse=True)
def nvrtc(monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", "")
    if torch.version.cuda is None:
        pytest.skip("this torch has no CUDA")
    try:
        torch.cuda._utils._get_gpu_rtc_library()
    except OSError:
        pytest.skip("NVRTC is not installed")


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
@pytest.mark.parametrize(
    ("channels", "width"), [pytest.param(*w, marks=[] if w == WIDTHS[-1] else pytest.mark.slow) for w in WIDTHS]
)
def test_every_kernel_of_a_width_compiles(chip, channels, width):
    binary = compile_program(channels, width, instruction_set(chip.capability))
    where = ".text.{}\0" if binary.startswith(b"\x7fELF") else ".entry {}("  # machine code, or PTX
    names = signatures(channels, width)
    assert len(names) > 30 and all(where.format(name).encode() in binary for name in names)
    if binary.startswith(b"\x7fELF"):
        for name, (size, alignment) in shared_memory_of(binary).items():
            if name.startswith("conv_"):
                assert size - RESERVED <= DECLARED, name
                assert alignment >= 1024, name  # what `wgmma` reads must begin there


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_the_kernels_around_the_step_compile(chip):
    binary = compile_elementwise(instruction_set(chip.capability))
    assert all(name in binary for name in (b"gather_images", b"update_sgd", b"update_adam"))


def shared_memory_of(binary):
    """Bytes of shared memory that the kernels of a program declare, and their alignment, by its section headers."""
    start, (size, count, names) = struct.unpack_from("<Q", binary, 40)[0], struct.unpack_from("<HHH", binary, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", binary, start + i * size) for i in range(count)]
    text = headers[names][4]
    named = {binary[text + h[0] : binary.index(b"\0", text + h[0])].decode(): h for h in headers}
    prefix = ".nv.shared."
    return {name.removeprefix(prefix): (h[5], h[8]) for name, h in named.items() if name.startswith(prefix)}

"""The sources as NVRTC sees them, for the chips that have kernels. No GPU needed, only the compiler."""

import pytest
import torch
from tests.kernels.fake_chip import signatures
from tests.kernels.host import needs_compiler

from zerosnet.kernels.compile import compile_program
from zerosnet.kernels.native import WIDTHS
from zerosnet.kernels.support import CHIPS

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def nvrtc():
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
    binary = compile_program(channels, width, "{}{}a".format(*chip.capability))
    where = ".text.{}\0" if binary.startswith(b"\x7fELF") else ".entry {}("  # machine code, or PTX
    names = signatures(channels, width)
    assert len(names) > 30 and all(where.format(name).encode() in binary for name in names)

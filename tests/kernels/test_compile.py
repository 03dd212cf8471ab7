"""The sources as NVRTC sees them, for the chips that have kernels. No GPU needed, only the compiler."""

import struct
from typing import NamedTuple

import pytest
from tests.kernels.fake_chip import signatures
from tests.kernels.host import needs_compiler

from zerosnet.kernels.chips import CHIPS, WIDTHS
from zerosnet.kernels.compile import AROUND, compile_unit, instruction_set, piece_with, source, units_of
from zerosnet.kernels.nvrtc import compile_cuda, library
from zerosnet.kernels.support import DECLARED

pytestmark = needs_compiler

RESERVED = 1024  # bytes a block, by the system


@pytest.fixture(autouse=True)
def nvrtc(monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", "")
    try:
        library()
    except OSError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
@pytest.mark.parametrize(
    ("channels", "width"), [pytest.param(*w, marks=[] if w == WIDTHS[-1] else pytest.mark.slow) for w in WIDTHS]
)
def test_every_kernel_of_a_width_compiles_in_pieces_to_the_code_of_the_whole(chip, channels, width):
    instructions = instruction_set(chip.capability)
    pieces = [compile_unit(unit, instructions) for unit in units_of(channels, width)]
    options = [f"--gpu-architecture=sm_{instructions}", "--std=c++17", f"-DCHANNELS={channels}", f"-DWIDTH={width}"]
    whole = sections(compile_cuda(source(channels), "kernels.cu", options))
    names = signatures(channels, width)
    assert len(names) > 30
    for name in names:
        found = sections(pieces[piece_with(name, pieces)])
        assert sum(f".text.{name}\0".encode() in piece for piece in pieces) == 1
        assert found[f".text.{name}"].content == whole[f".text.{name}"].content, name
        assert found[f".nv.constant0.{name}"].content == whole[f".nv.constant0.{name}"].content, name
        if name.startswith("conv_"):
            shared = found[f".nv.shared.{name}"]
            assert shared.size - RESERVED <= DECLARED, name
            assert shared.alignment >= 1024, name  # what `wgmma` reads must begin there


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_the_kernels_around_the_step_compile(chip):
    binary = compile_unit(AROUND, instruction_set(chip.capability))
    assert all(piece_with(name, [binary]) == 0 for name in ("gather_images", "update_sgd", "update_adam"))


def test_an_error_of_the_compiler_is_given_in_its_words():
    with pytest.raises(RuntimeError, match="missing"):
        compile_cuda("extern int f(missing);", "kernels.cu", [])


class Section(NamedTuple):
    size: int
    alignment: int
    content: bytes


def sections(binary):
    """The sections of a program in machine code, by name."""
    start, (size, count, names) = struct.unpack_from("<Q", binary, 40)[0], struct.unpack_from("<HHH", binary, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", binary, start + i * size) for i in range(count)]
    text = headers[names][4]
    named = {binary[text + h[0] : binary.index(b"\0", text + h[0])].decode(): h for h in headers}
    return {name: Section(h[5], h[8], binary[h[4] : h[4] + h[5]]) for name, h in named.items()}

"""The index arithmetic of the CUDA sources, compiled as plain C++ and compared with what it must do. No GPU needed."""

import ctypes
import itertools

import pytest
from tests.kernels.host import compile_for_host, function_of, needs_compiler, read_source

WIDTHS = [(16, 32), (32, 16), (64, 8)]
FUNCTIONS = {
    "swizzled": 2,
    "table_place": 2,
    "strip_offset": 1,
    "tile_pixel": 1,
    "tile_offset": 1,
    "span_offset": 1,
    "span_bytes": 1,
    "span_chunk": 1,
    "span_side": 1,
    "channel_of_row": 1,
}
CONSTANTS = (
    "C",
    "W",
    "PITCH",
    "PIXEL_BYTES",
    "ROW_BYTES",
    "TILE_BYTES",
    "TILES_M",
    "GROUP",
    "SPAN",
    "SPANS",
    "PASSES",
    "STAGE_BYTES",
    "TEAMS",
    "FORWARD_THREADS",
    "FORWARD_RESIDENT",
    "BACKWARD_THREADS",
    "BACKWARD_RESIDENT",
    "STAGES",
    "STRIP_ROWS",
)

pytestmark = needs_compiler


def build(folder, width, extra=""):
    source = read_source("layout.cuh") + extra
    for name, count in FUNCTIONS.items():
        arguments = [f"int a{i}" for i in range(count)]
        names = ", ".join(f"a{i}" for i in range(count))
        source += f'\nextern "C" int c_{name}({", ".join(arguments)}) {{ return {name}({names}); }}'
    for name in CONSTANTS:
        source += f'\nextern "C" int c_{name}() {{ return {name}; }}'
    return compile_for_host(source, folder, *width)


@pytest.fixture(scope="module", params=WIDTHS, ids=lambda w: f"{w[0]} channels")
def layout(request, tmp_path_factory):
    return Layout(build(tmp_path_factory.mktemp("layout"), request.param))


class Layout:
    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        function = getattr(self.library, f"c_{name}")
        return function if name in FUNCTIONS else function()

    def pixel(self, row, column, chunk):
        """Where a chunk of a pixel lies, in a tile whose row 0 and column 0 are the halo."""
        return row * self.ROW_BYTES + self.swizzled(column, chunk)


def test_every_chunk_of_every_pixel_has_a_place_of_its_own_inside_the_tile(layout):
    size, chunks = layout.W + 2, layout.C // 8
    places = [layout.pixel(r, c, k) for r in range(size) for c in range(size) for k in range(chunks)]
    assert len(set(places)) == len(places)
    assert all(p % 16 == 0 and 0 <= p <= layout.TILE_BYTES - 16 for p in places)


def test_eight_neighbouring_pixels_never_meet_in_a_bank_whatever_the_shift(layout):
    for start in range(layout.W + 2 - 8 + 1):
        for chunk in range(layout.C // 8):
            banks = {layout.swizzled(start + i, chunk) % 128 // 16 for i in range(8)}
            assert len(banks) == 8


def test_eight_threads_read_a_table_from_different_banks(layout):
    chunks = layout.C // 8
    places = [layout.table_place(chunk, j) for chunk in range(chunks) for j in range(8)]
    assert sorted(places) == list(range(layout.C))
    for j in (0, 4):  # four neighbours at a time
        starts = [layout.table_place(chunk, j) for chunk in range(chunks)]
        assert all(layout.table_place(chunk, j + i) == starts[chunk] + i for chunk in range(chunks) for i in range(4))
        assert len({start % 32 // 4 for start in starts}) == chunks


def test_strips_are_reached_by_immediate_offsets(layout):
    across = 16 // layout.STRIP_ROWS
    for strip in range(layout.W**2 // 16):
        for p in range(16):
            row, column = divmod(strip * 16 + p, layout.W)
            for dx in range(3):
                for chunk in range(layout.C // 8):
                    base = p // across * layout.ROW_BYTES + layout.swizzled(p % across + dx, chunk)
                    assert base + layout.strip_offset(strip) == layout.pixel(row, column + dx, chunk)


def test_sixteen_channels_further_is_an_exclusive_or_away(layout):
    for place in range(max(layout.W + 2, layout.C)):  # a column of pixels, or a row of weights
        for half in range(2):
            for k in range(layout.C // 16):
                there = layout.swizzled(place, half) ^ layout.swizzled(0, 2 * k)
                assert there == layout.swizzled(place, 2 * k + half)
                assert layout.swizzled(place + 16, 2 * k + half) == there + 16 * layout.PIXEL_BYTES
    for aligned in (layout.ROW_BYTES, layout.TILE_BYTES, 2 * layout.C**2):  # what addresses begin with
        assert aligned % layout.PIXEL_BYTES == 0


def test_tiles_cover_the_image_and_threads_use_immediate_offsets(layout):
    seen = []
    for tile in range(4 * layout.PASSES):
        for i in range(layout.SPANS):
            for g in range(8):
                for t in range(4):
                    place = (layout.tile_pixel(tile) + g) * layout.C + layout.SPAN * t + layout.span_offset(i)
                    seen += range(place, place + layout.SPAN)
                    pixel, channel = divmod(place, layout.C)
                    row, column = divmod(pixel, layout.W)
                    assert channel == layout.GROUP * layout.span_side(i) + layout.SPAN * t
                    base = layout.swizzled(g + 1, layout.SPAN * t // 8)
                    there = base + layout.tile_offset(tile) + layout.span_bytes(i) ^ layout.span_chunk(i)
                    assert there == layout.pixel(row, column + 1, channel // 8)
    assert sorted(seen) == list(range(layout.W**2 * layout.C))


def test_permuted_weight_rows_give_every_thread_neighbouring_channels(layout):
    rows = [layout.channel_of_row(n) for n in range(layout.C)]
    assert sorted(rows) == list(range(layout.C))
    for group in range(layout.C // layout.GROUP):
        for t in range(4):  # a thread holds columns 2t and 2t + 1 of every tile of 8 rows
            own = [rows[group * layout.GROUP + 8 * j + 2 * t + e] for j in range(layout.GROUP // 8) for e in range(2)]
            first = group * layout.GROUP + layout.SPAN * t
            assert own == list(range(first, first + layout.SPAN))


def test_four_warps_cover_an_image(layout):
    assert layout.PASSES * 4 * 16 * layout.TILES_M == layout.W**2


def test_sizes_on_the_host_are_those_of_the_sources(layout):
    from zerosnet.kernels.sizes import Sizes

    sizes = Sizes(layout.C, layout.W, replicas=10, batch=128, multiprocessors=132)
    assert sizes.tile_bytes == layout.TILE_BYTES
    ahead = 0 if layout.C == 16 else 2 * layout.C * layout.W**2
    assert sizes.step_shared == layout.TEAMS * layout.TILE_BYTES + 18 * layout.C**2
    assert sizes.inner_shared == sizes.step_shared + layout.TEAMS * ahead
    assert sizes.teams == layout.TEAMS
    assert (sizes.forward_threads, sizes.forward_resident) == (layout.FORWARD_THREADS, layout.FORWARD_RESIDENT)
    assert (sizes.backward_threads, sizes.backward_resident) == (layout.BACKWARD_THREADS, layout.BACKWARD_RESIDENT)
    ahead = 48 * layout.C * layout.W**2 // 8 if layout.STAGES == 2 else 0
    assert sizes.backward_shared == layout.STAGES * layout.STAGE_BYTES + 18 * layout.C**2 + ahead


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """The layout of 64 channels, with the descriptors of matrices that the tensor cores are given."""
    matrix = function_of("matrix_at", read_source("wgmma.cuh"))
    extra = f"\nusing Matrix = unsigned long long;\n{matrix}"
    extra += '\nextern "C" Matrix c_matrix_at(unsigned address, unsigned eight) { return matrix_at(address, eight); }'
    library = build(tmp_path_factory.mktemp("wide"), (64, 8), extra)
    library.c_matrix_at.restype = ctypes.c_ulonglong
    return Layout(library)


def read_by_the_tensor_cores(matrix, row, byte):
    """Where they look for a byte of a row, by the definition of PTX's descriptor with a swizzle of 128 bytes."""
    assert matrix >> 62 == 1 and matrix >> 49 & 7 == 0
    start, group = (matrix & 0x3FFF) << 4, (matrix >> 32 & 0x3FFF) << 4
    address = start + row // 8 * group + row % 8 * 128 + byte
    return address ^ (address >> 7 & 7) << 4


@pytest.mark.parametrize("base", [0, 150 * 1024])
def test_a_tap_is_a_matrix_that_begins_at_its_first_pixel(wide, base):
    pixels = wide.library.c_matrix_at(base, wide.ROW_BYTES)
    weights = wide.library.c_matrix_at(base, 8 * wide.PIXEL_BYTES)
    for tap, k, row, half in itertools.product(range(9), range(4), range(64), range(2)):
        from_ = tap // 3 * wide.ROW_BYTES + tap % 3 * wide.PIXEL_BYTES + 32 * k
        there = wide.pixel(row // 8 + tap // 3, row % 8 + tap % 3, 2 * k + half)
        assert read_by_the_tensor_cores(pixels + from_ // 16, row, 16 * half) == base + there
        weight = tap * 64 * 64 * 2
        there = weight + wide.swizzled(row, 2 * k + half)
        assert read_by_the_tensor_cores(weights + (weight + 32 * k) // 16, row, 16 * half) == base + there


@pytest.mark.parametrize("base", [0, 150 * 1024])
def test_a_strip_of_the_weight_gradient_is_two_rows_of_eight_pixels(wide, base):
    a = wide.library.c_matrix_at(base, wide.ROW_BYTES)
    g = wide.library.c_matrix_at(base + wide.ROW_BYTES + wide.PIXEL_BYTES, wide.ROW_BYTES)
    for strip, tap, p, chunk in itertools.product(range(4), range(9), range(16), range(8)):
        row, column, at = 2 * strip + p // 8, p % 8, wide.strip_offset(strip)
        from_ = at + tap // 3 * wide.ROW_BYTES + tap % 3 * wide.PIXEL_BYTES
        there = wide.pixel(row + tap // 3, column + tap % 3, chunk)
        assert read_by_the_tensor_cores(a + from_ // 16, p, 16 * chunk) == base + there
        assert read_by_the_tensor_cores(g + at // 16, p, 16 * chunk) == base + wide.pixel(row + 1, column + 1, chunk)


def test_operands_of_tensor_cores_are_aligned_to_the_address_pattern(wide):
    for begins in (wide.ROW_BYTES, wide.TILE_BYTES, wide.STAGE_BYTES, 2 * wide.C**2):
        assert begins % 1024 == 0

"""The index arithmetic of the CUDA sources, compiled as plain C++ and compared with what it must do. No GPU needed."""

import pytest
from tests.kernels.host import compile_for_host, needs_compiler, read_source

WIDTHS = [(16, 32), (32, 16), (64, 8)]
FUNCTIONS = {
    "swizzled": 2,
    "strip_offset": 1,
    "strip_row": 1,
    "strip_column": 1,
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
)

pytestmark = needs_compiler


@pytest.fixture(scope="module", params=WIDTHS, ids=lambda w: f"{w[0]} channels")
def layout(request, tmp_path_factory):
    source = read_source("layout.cuh")
    for name, count in FUNCTIONS.items():
        arguments = [f"int a{i}" for i in range(count)]
        names = ", ".join(f"a{i}" for i in range(count))
        source += f'\nextern "C" int c_{name}({", ".join(arguments)}) {{ return {name}({names}); }}'
    for name in CONSTANTS:
        source += f'\nextern "C" int c_{name}() {{ return {name}; }}'
    return Layout(compile_for_host(source, tmp_path_factory.mktemp("layout"), *request.param))


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


def test_strips_are_reached_by_immediate_offsets(layout):
    for strip in range(layout.W**2 // 16):
        for p in range(16):
            row, column = divmod(strip * 16 + p, layout.W)
            for dx in range(3):
                for chunk in range(layout.C // 8):
                    base = layout.strip_row(p) * layout.ROW_BYTES + layout.swizzled(layout.strip_column(p) + dx, chunk)
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


def test_tiles_cover_the_image_and_the_spans_of_a_thread_are_reached_by_immediate_offsets(layout):
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
                    base = layout.swizzled(layout.strip_column(g) + 1, layout.SPAN * t // 8)
                    there = base + layout.tile_offset(tile) + layout.span_bytes(i) ^ layout.span_chunk(i)
                    assert there == layout.pixel(row, column + 1, channel // 8)
    assert sorted(seen) == list(range(layout.W**2 * layout.C))


def test_rows_of_weights_are_a_permutation_that_gives_every_thread_neighbouring_channels(layout):
    rows = [layout.channel_of_row(n) for n in range(layout.C)]
    assert sorted(rows) == list(range(layout.C))
    for group in range(layout.C // layout.GROUP):
        for t in range(4):  # a thread holds columns 2t and 2t + 1 of every tile of 8 rows
            own = [rows[group * layout.GROUP + 8 * j + 2 * t + e] for j in range(layout.GROUP // 8) for e in range(2)]
            first = group * layout.GROUP + layout.SPAN * t
            assert own == list(range(first, first + layout.SPAN))


def test_four_warps_cover_an_image(layout):
    assert layout.PASSES * 4 * 16 * layout.TILES_M == layout.W**2


def test_rows_are_swizzled_as_the_tensor_cores_read_them(layout):
    """`wgmma` takes a chunk's number exclusive or the three bits of its address from the seventh on."""
    if layout.C < 64:
        pytest.skip("multiplied by `mma.sync`")
    for row in range(64):
        for chunk in range(8):
            plain = row * layout.PIXEL_BYTES + 16 * chunk
            assert layout.swizzled(row, chunk) == plain ^ ((plain >> 7 & 7) << 4)
    for begins in (layout.TILE_BYTES, layout.STAGE_BYTES, 2 * layout.C**2):  # the pattern of addresses repeats there
        assert begins % 1024 == 0
    assert layout.ROW_BYTES % 1024 == 0


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

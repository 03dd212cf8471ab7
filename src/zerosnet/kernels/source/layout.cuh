// Where everything lies: constants and index arithmetic of one width, in plain C++ (a test compiles and checks it without
// a GPU). Compiled for every width with -DCHANNELS=16|32|64 -DWIDTH=32|16|8.
#define LAYOUT __device__ __forceinline__

constexpr int C = CHANNELS, W = WIDTH;
constexpr int PIXELS = W * W, CHUNKS = C / 8;  // a chunk is 8 channels, 16 bytes
constexpr int IMAGE = PIXELS * C;              // elements of one image

// One image with its halo of zeros in shared memory. The pitch is a multiple of 8 pixels, so that the swizzle depends on
// the column only: every row, tap and tile is then reached by an immediate offset, with no address arithmetic.
constexpr int PITCH = W + 8, PIXEL_BYTES = 2 * C, ROW_BYTES = PITCH * PIXEL_BYTES;
constexpr int TILE_BYTES = (W + 2) * ROW_BYTES;

// A strip is 16 pixels: half a row, a row, or two rows of 8.
constexpr int ACROSS = W == 32 ? 2 : 1, STRIP_ROWS = W == 8 ? 2 : 1;

// Tile of one warp in the implicit matrix product: TILES_M strips below each other x all output channels, TILES_N times 8
// of them. 4 warps cover an image in PASSES.
constexpr int TILES_M = C == 64 ? 1 : 4, TILES_N = C / 8, PASSES = PIXELS / (4 * 16 * TILES_M);
constexpr int K_STEPS = C / 16;  // 16 input channels each

// A span is SPAN neighbouring channels of one pixel. After the product a thread holds SPANS of them: of every strip two
// pixels, g and g + 8, and of a pixel SIDES, one in every GROUP of channels.
constexpr int GROUP = C == 16 ? 16 : 32, SIDES = C / GROUP, SPAN = GROUP / 4, SPANS = TILES_M * 2 * SIDES;

// A block of the forward kernels has TEAMS of 4 warps, each with images of its own: at 64 channels they share the
// weights, which are large. FORWARD_RESIDENT blocks share a multiprocessor: few, because registers are worth more than
// threads.
constexpr int TEAMS = C == 64 ? 3 : 1, FORWARD_THREADS = 128 * TEAMS, FORWARD_RESIDENT = C == 64 ? 1 : 3;

// In a block of the backward kernels 4 warps compute the gradient of the input, the others that of the weights. At 64
// channels one block has a multiprocessor to itself, and what it does in turn nothing else would overlap: there are two
// STAGES of images, and the weight warps fill one while the others still work on the other. A stage is the gradient of
// the convolution's output, then its input.
constexpr int WEIGHT_WARPS = C == 64 ? 12 : 4, WEIGHT_THREADS = 32 * WEIGHT_WARPS, BACKWARD_THREADS = 128 + WEIGHT_THREADS;
constexpr int STAGES = C == 64 ? 2 : 1, BACKWARD_RESIDENT = C == 64 ? 1 : 2;
constexpr int STAGE_BYTES = 2 * TILE_BYTES;

// Byte offset of a chunk within a row of pixels (or of weights). The xor keeps any eight neighbours in different banks,
// whatever the shift of the tap.
LAYOUT constexpr int swizzled(int column, int chunk) {
  constexpr int shift = C == 16 ? 2 : C == 32 ? 1 : 0;
  return column * PIXEL_BYTES + ((chunk ^ ((column >> shift) & (CHUNKS - 1))) << 4);
}

// Where a table has the j-th channel of a chunk. Four neighbours are read at a time: those of all chunks lie side by side,
// and eight threads with eight chunks meet in no bank.
LAYOUT constexpr int table_place(int chunk, int j) { return j / 4 * (C / 2) + chunk * 4 + j % 4; }

// Where the i-th strip of an image begins, in bytes.
LAYOUT constexpr int strip_offset(int i) {
  return (i / ACROSS) * STRIP_ROWS * ROW_BYTES + (i % ACROSS) * 16 * PIXEL_BYTES;
}

// Where a tile of TILES_M strips begins: its first pixel, and its place in bytes.
LAYOUT constexpr int tile_pixel(int tile) {
  return tile / ACROSS * TILES_M * STRIP_ROWS * W + tile % ACROSS * 16;
}
LAYOUT constexpr int tile_offset(int tile) { return strip_offset(tile / ACROSS * TILES_M * ACROSS + tile % ACROSS); }

// The i-th span of a thread: its strip, which of two pixels of that, and its group of channels.
LAYOUT constexpr int span_strip(int i) { return i / (2 * SIDES); }
LAYOUT constexpr int span_half(int i) { return i / SIDES % 2; }
LAYOUT constexpr int span_side(int i) { return i % SIDES; }
// Where it lies from the thread's first one: in memory, in elements,
LAYOUT constexpr int span_offset(int i) { return (span_strip(i) * STRIP_ROWS * W + span_half(i) * 8) * C + span_side(i) * GROUP; }
// and its pixel in a tile of shared memory, in bytes; the group of channels is the exclusive or with `span_chunk`.
LAYOUT constexpr int span_bytes(int i) {
  return span_strip(i) * STRIP_ROWS * ROW_BYTES + span_half(i) * (W == 8 ? ROW_BYTES : 8 * PIXEL_BYTES);
}
LAYOUT constexpr int span_chunk(int i) { return span_side(i) * GROUP / 8 << 4; }

// Channel whose weights stand in row n of a packed tap: after the product each thread holds neighbouring channels.
LAYOUT constexpr int channel_of_row(int n) {
  const int group = n / GROUP, within = n % GROUP, tile = within / 8, column = within % 8;
  return group * GROUP + SPAN * (column / 2) + 2 * tile + column % 2;
}

// A block stores its part of the weight gradient as its threads hold it, in tiles of 16 inputs x 8 outputs of a tap, 4
// numbers a thread: a warp writes 512 bytes side by side. Where a tile begins,
constexpr int PART_TILE = 128;
LAYOUT constexpr int part_tile(int tap, int in_block, int out_tile) { return ((tap * K_STEPS + in_block) * TILES_N + out_tile) * PART_TILE; }
// and which weight the i-th number belongs to.
LAYOUT constexpr int part_tap(int i) { return i / (PART_TILE * TILES_N * K_STEPS); }
LAYOUT constexpr int part_in(int i) { return i / (PART_TILE * TILES_N) % K_STEPS * 16 + i % PART_TILE / 16 + i % 4 / 2 * 8; }
LAYOUT constexpr int part_out(int i) { return i / PART_TILE % TILES_N * 8 + i / 4 % 4 * 2 + i % 2; }

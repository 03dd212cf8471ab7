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

// Warp tile of the implicit matrix product: TILES_M strips below each other x TILE_N output channels. 4 warps cover an
// image in PASSES.
constexpr int WARPS_N = C == 64 ? 2 : 1, WARPS_M = 4 / WARPS_N;
constexpr int TILE_N = C / WARPS_N, TILE_M = C == 64 ? 32 : 64;
constexpr int TILES_N = TILE_N / 8, TILES_M = TILE_M / 16;
constexpr int PASSES = PIXELS / (WARPS_M * TILE_M);
constexpr int SPAN = TILE_N / 4;  // neighbouring channels that one thread holds after the product
constexpr int K_STEPS = C / 16;

// A block of the forward kernels has TEAMS of 4 warps, each with images of its own: at 64 channels they share the
// weights, which are large. So many blocks are on a multiprocessor: registers are worth more than threads.
constexpr int TEAMS = C == 64 ? 4 : 1, FORWARD_THREADS = 128 * TEAMS, FORWARD_RESIDENT = C == 64 ? 1 : 3;

// In a block of the backward kernels 4 warps compute the gradient of the input, the others that of the weights. At 64
// channels one block has a multiprocessor to itself, and what it does in turn nothing else would overlap: there are two
// STAGES of images, and the weight warps fill one while the others still work on the other.
constexpr int WEIGHT_WARPS = C == 64 ? 12 : 4, WEIGHT_THREADS = 32 * WEIGHT_WARPS, BACKWARD_THREADS = 128 + WEIGHT_THREADS;
constexpr int STAGES = C == 64 ? 2 : 1, BACKWARD_RESIDENT = C == 64 ? 1 : 2;

// Byte offset of a chunk within a row of pixels (or of weights). The xor keeps any eight neighbours in different banks,
// whatever the shift of the tap.
LAYOUT constexpr int swizzled(int column, int chunk) {
  constexpr int shift = C == 16 ? 2 : C == 32 ? 1 : 0;
  return column * PIXEL_BYTES + ((chunk ^ ((column >> shift) & (CHUNKS - 1))) << 4);
}

// Where the i-th strip of an image begins, in bytes.
LAYOUT constexpr int strip_offset(int i) {
  return (i / ACROSS) * STRIP_ROWS * ROW_BYTES + (i % ACROSS) * 16 * PIXEL_BYTES;
}
// Row and column of pixel p of a strip.
LAYOUT constexpr int strip_row(int p) { return W == 8 ? p >> 3 : 0; }
LAYOUT constexpr int strip_column(int p) { return W == 8 ? p & 7 : p; }

// Where a tile of TILES_M strips begins: its first pixel, and its place in bytes.
LAYOUT constexpr int tile_pixel(int tile) {
  return tile / ACROSS * TILES_M * STRIP_ROWS * W + tile % ACROSS * 16;
}
LAYOUT constexpr int tile_offset(int tile) { return strip_offset(tile / ACROSS * TILES_M * ACROSS + tile % ACROSS); }

// After the product a thread holds SPAN channels of pixels g and g + 8 of every strip: where these lie from its first one.
LAYOUT constexpr int span_offset(int m, int half) { return (m * STRIP_ROWS * W + half * 8) * C; }  // elements
LAYOUT constexpr int span_bytes(int m, int half) {  // in a tile of shared memory
  return m * STRIP_ROWS * ROW_BYTES + half * (W == 8 ? ROW_BYTES : 8 * PIXEL_BYTES);
}

// Channel whose weights stand in row n of a packed tap: after the product each thread holds SPAN neighbouring channels.
LAYOUT constexpr int channel_of_row(int n) {
  const int group = n / TILE_N, within = n % TILE_N, tile = within / 8, column = within % 8;
  return group * TILE_N + SPAN * (column / 2) + 2 * tile + column % 2;
}

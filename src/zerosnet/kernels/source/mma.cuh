// Products by `mma.sync`, for 16 and 32 channels: each warp by itself, both factors in its registers.
static_assert(STRIP_ROWS == 1);

__device__ __forceinline__ void ldmatrix(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}
__device__ __forceinline__ void ldmatrix_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The 3x3 convolution of an image in shared memory by one warp: TILES_M strips x all channels at a time.
// A row of pixels, once in registers, serves every row of the tile that it reaches. RESIDENT keeps the weights in
// registers, which at 16 channels they fit. Addresses are multiples of PIXEL_BYTES, so that a xor acts on the chunk alone.
template <bool RESIDENT>
struct Convolution {
  static constexpr int SOURCES = TILES_M + 2;  // rows of inputs
  unsigned a_address[3], b_address;  // of the first 16 input channels; `^ swizzled(0, 2 * k)` of the k-th
  unsigned resident[RESIDENT ? 9 : 1][4];

  __device__ __forceinline__ Convolution(unsigned tile, unsigned weights, int lane) {
    const int p = lane & 15, a_half = lane >> 4, b_row = (lane & 7) + ((lane >> 4) << 3), b_half = (lane >> 3) & 1;
#pragma unroll
    for (int dx = 0; dx < 3; dx++) a_address[dx] = tile + swizzled(p + dx, a_half);
    b_address = weights + swizzled(b_row, b_half);
    if constexpr (RESIDENT)
#pragma unroll
      for (int tap = 0; tap < 9; tap++) ldmatrix(resident[tap], b_address + tap * C * C * 2);
  }

  __device__ __forceinline__ void weights_of(unsigned (&b)[TILES_N / 2][4], int tap, int k) const {
#pragma unroll
    for (int n = 0; n < TILES_N / 2; n++)
      if constexpr (RESIDENT)
#pragma unroll
        for (int j = 0; j < 4; j++) b[n][j] = resident[tap][j];
      else ldmatrix(b[n], (b_address ^ swizzled(0, 2 * k)) + tap * C * C * 2 + n * 16 * PIXEL_BYTES);
  }

  // `stage`: where the image begins, in bytes from the one that was given; `tile`: which pixels of it.
  __device__ __forceinline__ void operator()(float (&acc)[TILES_M][TILES_N][4], unsigned stage, int tile) const {
    const unsigned from = stage + tile_offset(tile);
#pragma unroll
    for (int m = 0; m < TILES_M; m++)
#pragma unroll
      for (int n = 0; n < TILES_N; n++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[m][n][j] = 0.f;
#pragma unroll
    for (int dx = 0; dx < 3; dx++)
#pragma unroll
      for (int k = 0; k < K_STEPS; k++) {
        unsigned b[3][TILES_N / 2][4];
#pragma unroll
        for (int dy = 0; dy < 3; dy++) weights_of(b[dy], dy * 3 + dx, k);
#pragma unroll
        for (int row = 0; row < SOURCES; row++) {
          unsigned a[4];
          ldmatrix(a, ((a_address[dx] + from) ^ swizzled(0, 2 * k)) + row * ROW_BYTES);
#pragma unroll
          for (int dy = 0; dy < 3; dy++) {
            if (row < dy || row - dy >= TILES_M) continue;
#pragma unroll
            for (int n = 0; n < TILES_N; n++)
              mma(acc[row - dy][n], a, b[dy][n / 2][2 * (n % 2)], b[dy][n / 2][2 * (n % 2) + 1]);
          }
        }
        __syncwarp();  // keeps the compiler from loading too much ahead, for which there are no registers
      }
  }
};

// The weight gradient of one warp, sum over pixels of a(pixel + tap) g(pixel)^T, accumulated over images.
struct WeightGradient {
  float acc[9][2][4] = {};

  __device__ __forceinline__ void finish() {}  // nothing is under way after `begin`
  __device__ __forceinline__ void begin(unsigned stage, int warp, int lane) {
    const unsigned tile_g = stage, tile_a = stage + TILE_BYTES;
    const int a_pixel = (lane & 7) + ((lane >> 4) << 3), a_half = (lane >> 3) & 1;
    const int g_pixel = (lane & 7) + (((lane >> 3) & 1) << 3), g_half = lane >> 4;
    const int in_block = C == 16 ? 0 : warp & 1, out_block = C == 16 ? 0 : warp >> 1, row0 = C == 16 ? warp * SHARE : 0;
    unsigned at_a[3], at_g = tile_g + (row0 + 1) * ROW_BYTES + swizzled(g_pixel + 1, 2 * out_block + g_half);
#pragma unroll
    for (int dx = 0; dx < 3; dx++) at_a[dx] = tile_a + row0 * ROW_BYTES + swizzled(a_pixel + dx, 2 * in_block + a_half);
#pragma unroll 1
    for (int strip = 0; strip < ACROSS; strip++) {
      add_row_by_row(at_g, at_a);
      at_g += strip_offset(1);
#pragma unroll
      for (int dx = 0; dx < 3; dx++) at_a[dx] += strip_offset(1);
    }
  }

 private:
  static constexpr int SHARE = C == 16 ? W / 4 : W;  // rows of a warp

  // All taps, 16 outputs; row by row of one strip. A row of a, once in registers, meets the three rows of g that its taps
  // reach: g[dy] is the row dy above it. Each row of a is loaded while the one before it is at work.
  __device__ __forceinline__ void add_row_by_row(unsigned at_g, const unsigned (&at_a)[3]) {
    unsigned g[3][4], a[3][4];
#pragma unroll
    for (int dx = 0; dx < 3; dx++) ldmatrix_transposed(a[dx], at_a[dx]);
    ldmatrix_transposed(g[0], at_g);
    meet<0, 0>(g, a, at_g, at_a, 0);
    meet<0, 1>(g, a, at_g, at_a, 1);
#pragma unroll 2
    for (int row = 2; row < SHARE; row++) meet<0, 2>(g, a, at_g, at_a, row);
    meet<1, 2>(g, a, at_g, at_a, SHARE);
    meet<2, 2>(g, a, at_g, at_a, SHARE + 1);
  }

  // Row `row` of a with the rows FIRST to LAST above it. What is loaded for the next one: a, unless there is none, and g,
  // which beyond the last row is not used.
  template <int FIRST, int LAST>
  __device__ __forceinline__ void meet(unsigned (&g)[3][4], unsigned (&a)[3][4], unsigned at_g, const unsigned (&at_a)[3], int row) {
    unsigned next[4];
    if constexpr (FIRST == 0) ldmatrix_transposed(next, at_g + (row + 1) * ROW_BYTES);
#pragma unroll
    for (int dx = 0; dx < 3; dx++) {
#pragma unroll
      for (int dy = FIRST; dy <= LAST; dy++) {
        mma(acc[dy * 3 + dx][0], a[dx], g[dy][0], g[dy][1]);
        mma(acc[dy * 3 + dx][1], a[dx], g[dy][2], g[dy][3]);
      }
      if constexpr (FIRST < 2) ldmatrix_transposed(a[dx], at_a[dx] + (row + 1) * ROW_BYTES);
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
      g[2][j] = g[1][j];
      g[1][j] = g[0][j];
      if constexpr (FIRST == 0) g[0][j] = next[j];
    }
  }

 public:
  // At 16 channels the four warps have a quarter of the pixels each and add up in turn.
  __device__ __forceinline__ void store(float* to, float* shared, int warp, int lane) {
    const int in_block = C == 16 ? 0 : warp & 1, out_block = C == 16 ? 0 : warp >> 1;
    for (int turn = 0; turn < (C == 16 ? 4 : 1); turn++) {
      if (C != 16 || turn == warp)
#pragma unroll
        for (int i = 0; i < 9; i++)
#pragma unroll
          for (int n = 0; n < 2; n++) {
            float4* p = part_place(C == 16 ? shared : to, i, in_block, out_block * 2 + n, lane);
            float4 v = make_float4(acc[i][n][0], acc[i][n][1], acc[i][n][2], acc[i][n][3]);
            if (C == 16 && turn > 0) { v.x += p->x; v.y += p->y; v.z += p->z; v.w += p->w; }
            *p = v;
          }
      if (C == 16) wait_at<WEIGHT_THREADS>(WEIGHT_TEAM);
    }
    if (C == 16)
      for (int i = warp * 32 + lane; i < 9 * C * C / 4; i += WEIGHT_THREADS) ((float4*)to)[i] = ((const float4*)shared)[i];
  }
};

// The gradient of a convolution's weights, by warps of which each has some taps and channels of it.
constexpr int TAPS = C == 64 ? 3 : 9, GROUPS = C == 64 ? 4 : 1;  // a weight warp: 16 input channels, TAPS taps, 16 GROUPS outputs

// The weight gradient of one warp, sum over pixels of a(pixel + tap) g(pixel)^T, accumulated over images.
struct WeightGradient {
  float acc[TAPS][2 * GROUPS][4] = {};

  __device__ __forceinline__ void add(unsigned tile_g, unsigned tile_a, int warp, int lane) {
    const int a_pixel = (lane & 7) + ((lane >> 4) << 3), a_half = (lane >> 3) & 1;
    const int g_pixel = (lane & 7) + (((lane >> 3) & 1) << 3), g_half = lane >> 4;
    const int in_block = C == 16 ? 0 : C == 32 ? warp & 1 : warp & 3, out_block = C == 32 ? warp >> 1 : 0;
    const int row0 = C == 16 ? warp * SHARE : 0, dy0 = C == 64 ? warp >> 2 : 0;
    unsigned at_a[3], at_g[GROUPS];
#pragma unroll
    for (int dx = 0; dx < 3; dx++)
      at_a[dx] = tile_a + (row0 + strip_row(a_pixel) + dy0) * ROW_BYTES + swizzled(strip_column(a_pixel) + dx, 2 * in_block + a_half);
#pragma unroll
    for (int n = 0; n < GROUPS; n++)
      at_g[n] = tile_g + (row0 + strip_row(g_pixel) + 1) * ROW_BYTES + swizzled(strip_column(g_pixel) + 1, 2 * (out_block + n) + g_half);
    if constexpr (C == 64) add_strips(at_g, at_a);
    else
#pragma unroll 1
      for (int strip = 0; strip < ACROSS; strip++) {
        add_row_by_row(at_g[0], at_a);
        at_g[0] += strip_offset(1);
#pragma unroll
        for (int dx = 0; dx < 3; dx++) at_a[dx] += strip_offset(1);
      }
  }

 private:
  static constexpr int SHARE = C == 16 ? W / 4 : W;  // rows of a warp

  // Three taps of a row, all outputs; strip by strip.
  __device__ __forceinline__ void add_strips(const unsigned (&at_g)[GROUPS], const unsigned (&at_a)[3]) {
#pragma unroll 1
    for (int strip = 0; strip < PIXELS / 16; strip++) {
      unsigned g[GROUPS][4];
#pragma unroll
      for (int n = 0; n < GROUPS; n++) ldmatrix_transposed(g[n], at_g[n] + strip * strip_offset(1));
#pragma unroll
      for (int dx = 0; dx < TAPS; dx++) {
        unsigned a[4];
        ldmatrix_transposed(a, at_a[dx % 3] + strip * strip_offset(1));
#pragma unroll
        for (int n = 0; n < GROUPS; n++) {
          mma(acc[dx][2 * n], a, g[n][0], g[n][1]);
          mma(acc[dx][2 * n + 1], a, g[n][2], g[n][3]);
        }
      }
    }
  }

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
        mma(acc[(dy * 3 + dx) % TAPS][0], a[dx], g[dy][0], g[dy][1]);
        mma(acc[(dy * 3 + dx) % TAPS][1], a[dx], g[dy][2], g[dy][3]);
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
  // Store to [9][C in][C out]; at 16 channels the four warps have a quarter of the pixels each and add up in turn.
  __device__ __forceinline__ void store(float* to, float* shared, int warp, int lane) {
    const int gr = lane >> 2, t = lane & 3;
    const int in_block = C == 16 ? 0 : C == 32 ? warp & 1 : warp & 3, out_block = C == 32 ? warp >> 1 : 0;
    const int tap0 = C == 64 ? 3 * (warp >> 2) : 0;
    for (int turn = 0; turn < (C == 16 ? 4 : 1); turn++) {
      if (C != 16 || turn == warp) {
        float* target = C == 16 ? shared : to;
#pragma unroll
        for (int i = 0; i < TAPS; i++)
#pragma unroll
          for (int n = 0; n < 2 * GROUPS; n++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
              const int in = in_block * 16 + gr + 8 * half, out = out_block * 16 + n * 8 + 2 * t;
              float2* p = (float2*)(target + ((tap0 + i) * C + in) * C + out);
              float2 v = make_float2(acc[i][n][2 * half], acc[i][n][2 * half + 1]);
              if (C == 16 && turn > 0) { v.x += p->x; v.y += p->y; }
              *p = v;
            }
      }
      if (C == 16) wait_at<WEIGHT_THREADS>(WEIGHT_TEAM);
    }
    if (C == 16)
      for (int i = warp * 32 + lane; i < 9 * C * C / 4; i += WEIGHT_THREADS) ((float4*)to)[i] = ((const float4*)shared)[i];
  }
};

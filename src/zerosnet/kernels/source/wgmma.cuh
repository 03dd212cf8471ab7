// Products by `wgmma`, for 64 channels: four warps together, 64 x 16 by 16 x 64 at a time. The tensor cores read both
// factors where they lie in shared memory, in rows of 64 numbers, 128 bytes. The swizzle of `swizzled` is theirs, and it
// is one of addresses: a matrix may begin at any pixel, and so every tap sees the same image, with no copy of it.
static_assert(C == 64 && W == 8 && TILES_M == 1 && PASSES == 1);
using Matrix = unsigned long long;

// The matrix at an address: rows of 128 bytes in groups of eight, `eight` bytes from one group to the next. These are the
// fields of PTX's descriptor, in units of 16 bytes; `matrix + bytes / 16` lies so many bytes further. The leading offset
// (1) is not used, since a row is as wide as the swizzle. The base offset is 0 although a matrix may begin anywhere: PTX
// means the place where the pattern of the swizzle begins, and that is a multiple of 1,024 bytes.
__device__ __forceinline__ Matrix matrix_at(unsigned address, unsigned eight) {
  constexpr Matrix swizzle_128 = 1;
  return swizzle_128 << 62 | (Matrix)(eight / 16) << 32 | 1ull << 16 | (address & 0x3ffff) >> 4;
}

#define FOUR(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
// d = a b^T, or d += a b^T where `add`, by four warps; BY_COLUMNS: d += a^T b. Asynchronous: d is not to be touched until
// `wait_for_products`. Warp w has rows 16 w to 16 w + 15 of d, a thread of every 8 columns what it has after an `mma`.
template <bool BY_COLUMNS>
__device__ __forceinline__ void multiply(float (&d)[TILES_N][4], Matrix a, Matrix b, bool add) {
  asm volatile("{.reg .pred p; setp.ne.b32 p,%34,0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,"
               "%29,%30,%31},%32,%33,p,1,1,%35,%35;}"
               : FOUR(0), FOUR(1), FOUR(2), FOUR(3), FOUR(4), FOUR(5), FOUR(6), FOUR(7)
               : "l"(a), "l"(b), "r"((int)add), "n"((int)BY_COLUMNS));
}
#undef FOUR

// Before the first product, whose registers other instructions have written.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// After the last one.
__device__ __forceinline__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// After it the products have arrived: nothing that reads them is moved to before this.
template <int N>
__device__ __forceinline__ void wait_for_products(float (&acc)[N][TILES_N][4]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int m = 0; m < N; m++)
#pragma unroll
    for (int n = 0; n < TILES_N; n++)
#pragma unroll
      for (int j = 0; j < 4; j++) asm volatile("" : "+f"(acc[m][n][j])::"memory");
}

// The 3x3 convolution of an image of 8 x 8 pixels in shared memory by four warps: strip w x all channels for warp w.
// (What mma.cuh may keep in registers, and which tile it is at, is of no account here.)
template <bool>
struct Convolution {
  unsigned image;
  Matrix weights;

  __device__ __forceinline__ Convolution(unsigned tile, unsigned packed, int)
      : image(tile), weights(matrix_at(packed, 8 * PIXEL_BYTES)) {}

  // `stage`: where the image begins, in bytes from the one that was given.
  __device__ __forceinline__ void operator()(float (&acc)[TILES_M][TILES_N][4], unsigned stage, int) const {
    unsigned address = image + stage;
    asm volatile("" : "+r"(address));  // or the compiler keeps all 36 places in registers
    const Matrix pixels = matrix_at(address, ROW_BYTES);
    begin_products();
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
#pragma unroll
      for (int k = 0; k < K_STEPS; k++) {
        const int from = tap / 3 * ROW_BYTES + tap % 3 * PIXEL_BYTES + k * 32, weight = tap * C * C * 2 + k * 32;
        multiply<false>(acc[0], pixels + from / 16, weights + weight / 16, tap + k > 0);
      }
    end_products();
    wait_for_products(acc);
  }
};

// The weight gradient, sum over pixels of a(pixel + tap) g(pixel)^T, accumulated over images: four warps have a row of
// three taps, and of each all input and output channels.
struct WeightGradient {
  float acc[3][TILES_N][4] = {};

  // The tensor cores work on an image from here to `finish`: it must not change until then.
  __device__ __forceinline__ void begin(unsigned stage, int warp, int) {
    const Matrix g = matrix_at(stage + ROW_BYTES + PIXEL_BYTES, ROW_BYTES);
    const Matrix a = matrix_at(stage + TILE_BYTES + (warp >> 2) * ROW_BYTES, ROW_BYTES);
    begin_products();
#pragma unroll
    for (int strip = 0; strip < PIXELS / 16; strip++)
#pragma unroll
      for (int dx = 0; dx < 3; dx++)
        multiply<true>(acc[dx], a + (strip_offset(strip) + dx * PIXEL_BYTES) / 16, g + strip_offset(strip) / 16, true);
    end_products();
  }
  __device__ __forceinline__ void finish() { wait_for_products(acc); }

  __device__ __forceinline__ void store(float* to, float*, int warp, int lane) {
#pragma unroll
    for (int dx = 0; dx < 3; dx++)
#pragma unroll
      for (int n = 0; n < TILES_N; n++)
        *part_place(to, (warp >> 2) * 3 + dx, warp & 3, n, lane) =
            make_float4(acc[dx][n][0], acc[dx][n][1], acc[dx][n][2], acc[dx][n][3]);
  }
};

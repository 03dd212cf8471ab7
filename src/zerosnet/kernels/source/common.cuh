// Shared by all kernels. Compiled once for every width with -DCHANNELS=16|32|64 -DWIDTH=32|16|8.
//
// Activations are replica-major: (K, B, H, W, C) in bf16. One thread block works on one replica, so that nothing a
// replica does (not even a NaN) can reach its neighbours. The state y is kept as two bf16 halves, y = high + low.
//
// No header is included, so that NVRTC alone is enough: bf16 numbers travel as 16-bit words.
using bf16 = unsigned short;

// Rows of a per-channel table, [K][4][C] floats.
enum { SCALE, SHIFT, MEAN, RSTD };          // forward: BN(z) = SCALE z + SHIFT
enum { GAIN, SLOPE, CENTRE, OFFSET };       // backward: dz = GAIN dzhat + SLOPE (z - CENTRE) + OFFSET

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

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

__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ float2 unpack(unsigned pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}
template <int N>
__device__ __forceinline__ void unpack_words(float (&f)[2 * N], const unsigned (&words)[N]) {
#pragma unroll
  for (int j = 0; j < N; j++) { float2 u = unpack(words[j]); f[2 * j] = u.x; f[2 * j + 1] = u.y; }
}
__device__ __forceinline__ void unpack8(float (&f)[8], uint4 v) {
  const unsigned words[4] = {v.x, v.y, v.z, v.w};
  unpack_words<4>(f, words);
}
__device__ __forceinline__ uint4 pack8(const float (&f)[8]) {
  return make_uint4(pack(f[0], f[1]), pack(f[2], f[3]), pack(f[4], f[5]), pack(f[6], f[7]));
}

// SPAN neighbouring channels of one pixel: out of shared memory,
__device__ __forceinline__ void load_words(unsigned (&words)[SPAN / 2], const void* p) {
  if constexpr (SPAN == 8) { uint4 v = *(const uint4*)p; words[0] = v.x; words[1] = v.y; words[2] = v.z; words[3] = v.w; }
  else { uint2 v = *(const uint2*)p; words[0] = v.x; words[1] = v.y; }
}
// out of memory, at this place in the program and no later (it travels while other work is done), and into memory.
__device__ __forceinline__ void load_ahead(unsigned (&words)[SPAN / 2], const bf16* p) {
  if constexpr (SPAN == 8)
    asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "l"(p));
  else asm volatile("ld.global.nc.v2.u32 {%0,%1},[%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(p));
}
__device__ __forceinline__ void store_span(bf16* p, const unsigned (&words)[SPAN / 2]) {
  if constexpr (SPAN == 8) *(uint4*)p = make_uint4(words[0], words[1], words[2], words[3]);
  else *(uint2*)p = make_uint2(words[0], words[1]);
}

// Zero images and their halos; afterwards only the inside is written, so the halos stay zero.
__device__ __forceinline__ void clear_tiles(unsigned char* tiles, int images, int thread, int threads) {
  for (int i = thread; i < images * TILE_BYTES / 16; i += threads) ((uint4*)tiles)[i] = make_uint4(0, 0, 0, 0);
}

// A thread fills the same chunk of the same column in every ROWS-th row.
template <int THREADS>
struct Filler {
  static constexpr int ROWS = THREADS / (CHUNKS * W), ITEMS = (W + ROWS - 1) / ROWS;
  int chunk, first;  // its chunk of 8 channels; its first item in memory, in chunks
  unsigned offset;   // where that goes in shared memory
  __device__ __forceinline__ Filler(int thread) : chunk(thread % CHUNKS), first(thread) {
    const int pixel = thread / CHUNKS;
    offset = (pixel / W + 1) * ROW_BYTES + swizzled(pixel % W + 1, chunk);
  }
  // With 384 threads the last turn is for some of them only.
  __device__ __forceinline__ bool has(int item) const { return W % ROWS == 0 || source(item) < PIXELS * CHUNKS; }
  __device__ __forceinline__ int source(int item) const { return first + item * THREADS; }
  __device__ __forceinline__ unsigned target(int item) const { return offset + item * ROWS * ROW_BYTES; }
};

// Weights of one replica, [9][C rows][C], into shared memory; they are there after `wait_for_copies` and a barrier.
__device__ __forceinline__ void load_weights(unsigned char* to, const bf16* from, int thread, int threads) {
  for (int i = thread; i < 9 * C * CHUNKS; i += threads) {
    int chunk = i % CHUNKS, row = (i / CHUNKS) % C, tap = i / (CHUNKS * C);
    copy_async(to + tap * C * C * 2 + swizzled(row, chunk), (const uint4*)from + i);
  }
}

// The 3x3 convolution of an image in shared memory by one warp: TILES_M strips x TILE_N channels at a time.
// A row of pixels, once in registers, serves every row of the tile that it reaches. RESIDENT keeps the weights in
// registers, which at 16 channels they fit. Addresses are multiples of PIXEL_BYTES, so that a xor acts on the chunk alone.
template <bool RESIDENT>
struct Convolution {
  static constexpr int SOURCES = (TILES_M - 1) * STRIP_ROWS + 3;  // rows at which a strip of inputs begins
  unsigned a_address[3], b_address;  // of the first 16 input channels; `^ swizzled(0, 2 * k)` of the k-th
  unsigned resident[RESIDENT ? 9 : 1][4];

  __device__ __forceinline__ Convolution(unsigned tile, unsigned weights, int row0, int lane) {
    const int p = lane & 15, a_half = lane >> 4, b_row = row0 + (lane & 7) + ((lane >> 4) << 3), b_half = (lane >> 3) & 1;
#pragma unroll
    for (int dx = 0; dx < 3; dx++)
      a_address[dx] = tile + strip_row(p) * ROW_BYTES + swizzled(strip_column(p) + dx, a_half);
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

  // `from`: where the tile of pixels begins, in bytes from the image that was given.
  __device__ __forceinline__ void operator()(float (&acc)[TILES_M][TILES_N][4], unsigned from) const {
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
            if (row < dy || (row - dy) % STRIP_ROWS || (row - dy) / STRIP_ROWS >= TILES_M) continue;
#pragma unroll
            for (int n = 0; n < TILES_N; n++)
              mma(acc[(row - dy) / STRIP_ROWS][n], a, b[dy][n / 2][2 * (n % 2)], b[dy][n / 2][2 * (n % 2) + 1]);
          }
        }
        __syncwarp();  // keeps the compiler from loading too much ahead, for which there are no registers
      }
  }
};

// A chunk's row of a table.
__device__ __forceinline__ void load_chunk(float (&f)[8], const float* p) {
#pragma unroll
  for (int j = 0; j < 8; j++) f[j] = p[j];
}

// Batch norm and ReLU; a NaN stays one.
__device__ __forceinline__ float activate(float x, float scale, float shift) {
  const float v = fmaf(x, scale, shift);
  return v <= 0.f ? 0.f : v;
}

// Barriers for some of a block's threads: to wait for the others, or to let them go on (number 0 is __syncthreads).
template <int THREADS>
__device__ __forceinline__ void wait_at(int barrier) { asm volatile("bar.sync %0,%1;" ::"r"(barrier), "n"(THREADS) : "memory"); }
template <int THREADS>
__device__ __forceinline__ void arrive_at(int barrier) { asm volatile("bar.arrive %0,%1;" ::"r"(barrier), "n"(THREADS) : "memory"); }

// Those of the backward kernels (1 is that of `store_sums`); FULL and EMPTY are two each.
enum { WEIGHT_TEAM = 2, FULL = 3, EMPTY = 5, ROUND = 7 };

// A team is 4 warps that share images and a barrier.
__device__ __forceinline__ void wait_for_team(int team) { wait_at<128>(team + 1); }

// Two sums a channel over all that a team has seen, [2][C], into `row` of the partial sums. Deterministic: no atomics.
// Called by the 4 warps of a team; `scratch` holds 4 * 2 * TILE_N floats.
__device__ __forceinline__ void store_sums(float (&first)[SPAN], float (&second)[SPAN], float* scratch, float* row,
                                           int team, int warp, int lane) {
  const int t = lane & 3;
#pragma unroll
  for (int j = 0; j < SPAN; j++) {
#pragma unroll
    for (int o = 4; o < 32; o <<= 1) {
      first[j] += __shfl_xor_sync(~0u, first[j], o);
      second[j] += __shfl_xor_sync(~0u, second[j], o);
    }
    if (lane < 4) {
      scratch[(warp * 2 + 0) * TILE_N + SPAN * t + j] = first[j];
      scratch[(warp * 2 + 1) * TILE_N + SPAN * t + j] = second[j];
    }
  }
  wait_for_team(team);
  for (int i = warp * 32 + lane; i < 2 * C; i += 128) {
    int which = i / C, channel = i % C, group = channel / TILE_N;
    float sum = 0.f;
#pragma unroll
    for (int m = 0; m < WARPS_M; m++) sum += scratch[((m * WARPS_N + group) * 2 + which) * TILE_N + channel % TILE_N];
    row[i] = sum;
  }
}

// True in the block of a replica that finishes last: it alone sees all partial sums, and adds them up in fixed order.
__device__ __forceinline__ bool is_last_block(int* counter, int blocks, int thread) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (thread == 0) {
    last = atomicAdd(counter, 1) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}

// Adds up `rows` of [2][C] partial sums; thread c < 2 C returns with the total of column c in `totals`.
__device__ __forceinline__ void add_up(double* totals, const float* sums, int rows, int thread, int threads) {
  __shared__ double parts[8 * 2 * C];
  const int groups = min(8, threads / (2 * C)), column = thread % (2 * C), group = thread / (2 * C);
  if (group < groups) {
    double sum = 0;
#pragma unroll 8
    for (int r = group; r < rows; r += groups) sum += (double)__ldcg(sums + (size_t)r * 2 * C + column);
    parts[group * 2 * C + column] = sum;
  }
  __syncthreads();
  if (thread < 2 * C) {
    double sum = 0;
    for (int g = 0; g < groups; g++) sum += parts[g * 2 * C + thread];
    totals[thread] = sum;
  }
  __syncthreads();
}

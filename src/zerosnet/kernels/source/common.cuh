// Shared by all kernels. Compiled once for every width with -DCHANNELS=16|32|64 -DWIDTH=32|16|8.
//
// Activations are replica-major: (K, B, H, W, C) in bf16. One thread block works on one replica, so that nothing a
// replica does (not even a NaN) can reach its neighbours. The state y has 24 bits: `high`, y rounded to bf16, and `low`, a
// signed byte that counts 256ths of the distance to the next bf16 number. The bits of y as a float are high << 16 + low << 8.
//
// No header is included, so that NVRTC alone is enough: bf16 numbers travel as 16-bit words.
using bf16 = unsigned short;

// Rows of a per-channel table, [K][4][C] floats.
enum { SCALE, SHIFT, MEAN, RSTD };          // forward: BN(z) = SCALE z + SHIFT
enum { GAIN, SLOPE, CENTRE, OFFSET };       // backward: dz = GAIN dzhat + SLOPE (z - CENTRE) + OFFSET

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// A kernel may be on the chip before the one ahead of it in the stream has ended (programmatic dependent launch). Here it
// waits for that, and then lets the next one come. So before this line all kernels have ended but the one right ahead,
// whose results must not be read nor overwritten; weights, which were packed long before, may be read.
__device__ __forceinline__ void wait_for_kernel_ahead() {
  asm volatile("griddepcontrol.wait;\n griddepcontrol.launch_dependents;" ::: "memory");
}

// What this thread has written to shared memory can be read by the tensor cores, after the next barrier.
__device__ __forceinline__ void show_tensor_cores() {
  if constexpr (C == 64) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

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
// The same of low bytes, four in a word.
__device__ __forceinline__ void load_ahead(unsigned (&words)[SPAN / 4], const signed char* p) {
  if constexpr (SPAN == 8) asm volatile("ld.global.nc.v2.u32 {%0,%1},[%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(p));
  else asm volatile("ld.global.nc.u32 %0,[%1];" : "=r"(words[0]) : "l"(p));
}
__device__ __forceinline__ void store_span(signed char* p, const unsigned (&words)[SPAN / 4]) {
  if constexpr (SPAN == 8) *(uint2*)p = make_uint2(words[0], words[1]);
  else *(unsigned*)p = words[0];
}

// Byte 4 of a selector is 0; one of 8 to 11 is the sign of byte 0 to 3, repeated.
__device__ __forceinline__ unsigned pick_bytes(unsigned word, unsigned selector) {
  unsigned picked;
  asm("prmt.b32 %0,%1,0,%2;" : "=r"(picked) : "r"(word), "r"(selector));
  return picked;
}

// The j-th of a span's numbers out of its high halves and low bytes.
__device__ __forceinline__ float join(const unsigned (&high)[SPAN / 2], const unsigned (&low)[SPAN / 4], int j) {
  const unsigned top = j % 2 ? high[j / 2] & 0xffff0000u : high[j / 2] << 16;
  return __uint_as_float(top + pick_bytes(low[j / 4], 0x8804 | j % 4 * 0x1110));
}
// The low byte of v, whose high half is `top` as a float, in the second byte. What lies above a half is rounded to 127: a
// number right between two of bf16 goes to the even one. A NaN stays one whatever its low byte is.
__device__ __forceinline__ unsigned low_byte(float v, float top) {
  return (unsigned)min((int)(__float_as_uint(v) - __float_as_uint(top) + 0x80u), 0x7fff);
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

// The four numbers of a thread in a tile of the weight gradient.
__device__ __forceinline__ float4* part_place(float* parts, int tap, int in_block, int out_tile, int lane) {
  return (float4*)(parts + part_tile(tap, in_block, out_tile)) + lane;
}

// A chunk's row of a table, in memory.
__device__ __forceinline__ void load_chunk(float (&f)[8], const float* p) {
  const float4 low = ((const float4*)p)[0], high = ((const float4*)p)[1];
  f[0] = low.x; f[1] = low.y; f[2] = low.z; f[3] = low.w;
  f[4] = high.x; f[5] = high.y; f[6] = high.z; f[7] = high.w;
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

// From here on the four warps have so many registers a thread: MORE than before, which others have given back, or fewer.
template <int REGISTERS, bool MORE>
__device__ __forceinline__ void have_registers() {
  if constexpr (MORE) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
  else asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// Those of the backward kernels (1 is that of `store_sums`); FULL and EMPTY are two each.
enum { WEIGHT_TEAM = 2, FULL = 3, EMPTY = 5, ROUND = 7 };

// A team is 4 warps that share images and a barrier.
__device__ __forceinline__ void wait_for_team(int team) { wait_at<128>(team + 1); }

// Two sums a channel over all that so many warps of a block have seen, [2][C], into its `row` of the partial sums.
// Deterministic: no atomics. Team 0 writes the row, and it alone goes on with it.
template <int WARPS>
__device__ __forceinline__ void store_sums(float (&first)[SIDES][SPAN], float (&second)[SIDES][SPAN],
                                           float (&scratch)[WARPS][2 * C], float* row, int warp, int lane) {
  const int t = lane & 3, thread = warp * 32 + lane;
#pragma unroll
  for (int i = 0; i < SIDES * SPAN; i++) {
    const int side = i / SPAN, j = i % SPAN, channel = side * GROUP + SPAN * t + j;
#pragma unroll
    for (int o = 4; o < 32; o <<= 1) {
      first[side][j] += __shfl_xor_sync(~0u, first[side][j], o);
      second[side][j] += __shfl_xor_sync(~0u, second[side][j], o);
    }
    if (lane < 4) {
      scratch[warp][channel] = first[side][j];
      scratch[warp][C + channel] = second[side][j];
    }
  }
  if constexpr (WARPS == 4) wait_for_team(0);
  else __syncthreads();
  if (thread < 2 * C) {
    float sum = 0.f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += scratch[w][thread];
    row[thread] = sum;
  }
}

// True in the block of a replica that finishes last: it alone sees all partial sums, and adds them up in fixed order.
// Called by team 0, which has written its row; nobody waits for the other warps of a block, nor for what they store.
__device__ __forceinline__ bool is_last_block(int* counter, int blocks, int thread) {
  __shared__ bool last;
  wait_for_team(0);
  if (thread == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");  // what was written before the barrier comes before the count
    last = atomicAdd(counter, 1) == blocks - 1;
    if (last) *counter = 0;
  }
  wait_for_team(0);
  return last;
}

// Adds up `rows` of [2][C] partial sums, by team 0: a thread has four columns of every GROUPS-th row.
__device__ __forceinline__ void add_up(double (&totals)[2 * C], const float* sums, int rows, int thread) {
  constexpr int LANES = 2 * C / 4, GROUPS = 128 / LANES, AT_ONCE = 8;
  __shared__ double parts[GROUPS][2 * C];
  const int lane = thread % LANES, group = thread / LANES;
  double sum[4] = {};
  for (int first = group; first < rows; first += AT_ONCE * GROUPS) {
    float4 v[AT_ONCE];
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      const int row = first + n * GROUPS;
      v[n] = make_float4(0.f, 0.f, 0.f, 0.f);
      if (row < rows) v[n] = __ldcg((const float4*)(sums + (size_t)row * 2 * C) + lane);
    }
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) { sum[0] += v[n].x; sum[1] += v[n].y; sum[2] += v[n].z; sum[3] += v[n].w; }
  }
#pragma unroll
  for (int j = 0; j < 4; j++) parts[group][4 * lane + j] = sum[j];
  wait_for_team(0);
  if (thread < 2 * C) {
    double total = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) total += parts[g][thread];
    totals[thread] = total;
  }
  wait_for_team(0);
}

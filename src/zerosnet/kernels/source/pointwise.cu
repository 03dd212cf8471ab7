// The small ones: recursion of the state's gradient, weights in and out of the kernels' layout.

// G_n = bn_backward(dyhat, y) + sum_i weight_i G_i, the adjoint of the multistep sum. (3 + TERMS) U, or (1 + TERMS) U
// where the state feeds no f (SLOPED = false). `even`, if there is one, is what a projection adds at every second pixel
// (K, B, W/2, W/2, C): 1/4 U. DOTS: also the inner products of y with every G_i, which are the gradients
// of the alphas; one row of partial sums a block, [K][blocks][4]; (2 + TERMS) U where y is read for them alone.
template <int TERMS, bool SLOPED, bool DOTS>
__device__ void state_gradient(const bf16* __restrict__ dyhat, const bf16* __restrict__ y, const float* __restrict__ table,
                               const float* __restrict__ weights, const bf16* const (&terms)[4],
                               const bf16* __restrict__ even, int has_even, bf16* __restrict__ out,
                               float* __restrict__ dots, int batch) {
  const int k = blockIdx.y, chunk = threadIdx.x % CHUNKS;
  wait_for_kernel_ahead();
  const size_t replica = (size_t)k * batch * PIXELS * CHUNKS;
  float gain[8], slope[8], offset[8], weight[TERMS + 1], dot[TERMS + 1] = {};
  if constexpr (SLOPED) {
    const float* row = table + (size_t)k * 4 * C + chunk * 8;
    float centre[8];
    load_chunk(gain, row + GAIN * C);
    load_chunk(slope, row + SLOPE * C);
    load_chunk(centre, row + CENTRE * C);
    load_chunk(offset, row + OFFSET * C);
#pragma unroll
    for (int j = 0; j < 8; j++) offset[j] -= slope[j] * centre[j];
  }
#pragma unroll
  for (int i = 0; i < TERMS; i++) weight[i] = weights[k * 4 + i];
  for (int i = blockIdx.x * 256 + threadIdx.x; i < batch * PIXELS * CHUNKS; i += gridDim.x * 256) {
    const size_t at = replica + i;
    float sum[8] = {}, d[8], v[8];
    if constexpr (SLOPED || DOTS) unpack8(v, __ldg((const uint4*)y + at));
    if constexpr (SLOPED) {
      unpack8(d, __ldg((const uint4*)dyhat + at));
#pragma unroll
      for (int j = 0; j < 8; j++) sum[j] = fmaf(gain[j], d[j], fmaf(slope[j], v[j], offset[j]));
    }
#pragma unroll
    for (int n = 0; n < TERMS; n++) {
      unpack8(d, __ldg((const uint4*)terms[n] + at));
#pragma unroll
      for (int j = 0; j < 8; j++) {
        sum[j] = fmaf(weight[n], d[j], sum[j]);
        if constexpr (DOTS) dot[n] = fmaf(d[j], v[j], dot[n]);
      }
    }
    if (has_even) {
      const int pixel = (i / CHUNKS) % PIXELS, row = pixel / W, column = pixel % W;
      if (((row | column) & 1) == 0) {
        const size_t image = (size_t)k * batch + i / (CHUNKS * PIXELS);
        unpack8(d, __ldg((const uint4*)even + (image * (PIXELS / 4) + row / 2 * (W / 2) + column / 2) * CHUNKS + chunk));
#pragma unroll
        for (int j = 0; j < 8; j++) sum[j] += d[j];
      }
    }
    ((uint4*)out)[at] = pack8(sum);
  }
  if constexpr (DOTS) {
    __shared__ float warps[8][4];
#pragma unroll
    for (int n = 0; n < TERMS; n++) {
#pragma unroll
      for (int o = 16; o; o >>= 1) dot[n] += __shfl_xor_sync(~0u, dot[n], o);
      if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32][n] = dot[n];
    }
    __syncthreads();
    if (threadIdx.x < 4) {
      float sum = 0.f;
      for (int w = 0; w < 8; w++) sum += threadIdx.x < TERMS ? warps[w][threadIdx.x] : 0.f;
      dots[((size_t)k * gridDim.x + blockIdx.x) * 4 + threadIdx.x] = sum;
    }
  }
}

#define STATE_GRADIENT(name, TERMS, SLOPED, DOTS)                                                                        \
  extern "C" __global__ void __launch_bounds__(256) name(const bf16* dyhat, const bf16* y, const float* table,           \
                                                         const float* weights, const bf16* g0, const bf16* g1,           \
                                                         const bf16* g2, const bf16* g3, const bf16* even,               \
                                                         int has_even, bf16* out, float* dots, int batch) {              \
    const bf16* const terms[4] = {g0, g1, g2, g3};                                                                       \
    state_gradient<TERMS, SLOPED, DOTS>(dyhat, y, table, weights, terms, even, has_even, out, dots, batch);              \
  }
#define STATE_GRADIENTS(TERMS)                                        \
  STATE_GRADIENT(state_gradient_##TERMS, TERMS, true, false)          \
  STATE_GRADIENT(history_gradient_##TERMS, TERMS, false, false)       \
  STATE_GRADIENT(state_gradient_dots_##TERMS, TERMS, true, true)      \
  STATE_GRADIENT(history_gradient_dots_##TERMS, TERMS, false, true)
STATE_GRADIENTS(0)
STATE_GRADIENTS(1)
STATE_GRADIENTS(2)
STATE_GRADIENTS(3)
STATE_GRADIENTS(4)

// Weights in memory are float (K, out, in, 3, 3), plain or channels_last: an output channel is C * 9 floats in both, and
// `in_stride`, `tap_stride` say where the rest lies.
//
// All convolutions of a width at once, by a table of addresses: -> bf16 [conv][K][tap][row of out][in] for the forward
// pass, and [conv][K][flipped tap][row of in][out] for the gradient of the input. A thread has 8 neighbours of a row in
// each: 4 bytes in a weight, which are read twice, the second time from the cache, and 2 + 2 out.
extern "C" __global__ void pack_weights(const unsigned long long* addresses, bf16* forward, bf16* backward, int replicas,
                                        int in_stride, int tap_stride) {
  const int i = blockIdx.x * 256 + threadIdx.x, size = replicas * 9 * C * C;
  if (i >= size / 8) return;
  const float* weights = (const float*)addresses[blockIdx.y];
  // neighbouring threads have neighbouring rows: what one of them reads far apart for `backward`, they read side by side
  const int n = i % C, column = i / C % CHUNKS * 8, tap = i / (C * CHUNKS) % 9, k = i / (9 * C * CHUNKS), channel = channel_of_row(n);
  float f[8], b[8];
#pragma unroll
  for (int j = 0; j < 8; j++) {
    f[j] = weights[(size_t)(k * C + channel) * C * 9 + (column + j) * in_stride + tap * tap_stride];
    b[j] = weights[(size_t)(k * C + column + j) * C * 9 + channel * in_stride + (8 - tap) * tap_stride];
  }
  const size_t at = (size_t)blockIdx.y * size + ((k * 9 + tap) * C + n) * C + column;
  *(uint4*)(forward + at) = pack8(f);
  *(uint4*)(backward + at) = pack8(b);
}

// Sum of the blocks' parts [K][blocks][9 in out], ordered as in layout.cuh, in fixed order -> float (K, out, in, 3, 3). 4
// bytes in for every weight and block, mostly from the cache, since the parts were just written; 4 out.
extern "C" __global__ void add_weight_parts(const float* parts, float* gradient, int replicas, int blocks, int in_stride,
                                            int tap_stride) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= replicas * 9 * C * C) return;
  const int element = i % (9 * C * C), k = i / (9 * C * C);
  const float* p = parts + (size_t)k * blocks * 9 * C * C + element;
  float sum = 0.f;
#pragma unroll 8
  for (int b = 0; b < blocks; b++) sum += __ldcg(p + (size_t)b * 9 * C * C);
  gradient[(size_t)(k * C + part_out(element)) * C * 9 + part_in(element) * in_stride + part_tap(element) * tap_stride] = sum;
}

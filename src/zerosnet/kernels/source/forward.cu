// Forward: BN-ReLU on the way in, 3x3 convolution, and on the way out the statistics that the next BN needs.
// Each activation is read once and written once.

struct Normalisation {  // what the last block of a replica does with the sums: batch norm's forward bookkeeping
  const float *gamma, *beta;
  float *running_mean, *running_var, *table;
  float momentum, eps;
};

__device__ void finish_normalisation(const Normalisation& bn, const float* rows, int k, int blocks, float count, int thread,
                                     int threads) {
  __shared__ double totals[2 * C];
  add_rows(totals, rows + (size_t)k * blocks * 2 * C, blocks, thread, threads);
  if (thread < C) {
    const int c = k * C + thread;
    const double mean = totals[thread] / count, var = fmax(totals[C + thread] / count - mean * mean, 0.0);
    const float rstd = (float)rsqrt(var + (double)bn.eps), scale = bn.gamma[c] * rstd;
    float* table = bn.table + (size_t)k * 4 * C + thread;
    table[SCALE * C] = scale;
    table[SHIFT * C] = bn.beta[c] - (float)mean * scale;
    table[MEAN * C] = (float)mean;
    table[RSTD * C] = rstd;
    const double unbiased = var * count / fmax(count - 1.f, 1.f);
    bn.running_mean[c] += bn.momentum * ((float)mean - bn.running_mean[c]);
    bn.running_var[c] += bn.momentum * ((float)unbiased - bn.running_var[c]);
  }
}

// STEPS = 0: z = conv(relu(bn(x))) is stored in bf16: 2 U of traffic (U: one bf16 activation).
// STEPS > 0: y = sum_i alpha_i y_i + beta conv(...) is stored in two halves: (3 + 2 STEPS) U.
template <int STEPS>
__device__ void conv_forward(const bf16* __restrict__ x, const float* __restrict__ norm, const bf16* __restrict__ weights,
                             const float* __restrict__ coefficients, const bf16* const (&high)[4], const bf16* const (&low)[4],
                             bf16* __restrict__ out, bf16* __restrict__ out_low, float* __restrict__ sums,
                             int* __restrict__ counters, const Normalisation bn, int batch, int training) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ float scratch[4 * 2 * TILE_N];
  unsigned char *tile = shared, *packed = shared + TILE_BYTES;
  const int k = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  const int row0 = (warp % WARPS_N) * TILE_N, channel0 = row0 + SPAN * t;

  clear_tiles(tile, 1, thread, 128);
  load_weights(packed, weights + (size_t)k * 9 * C * C, thread, 128);
  const Filler<128> fill(thread);
  float scale[8], shift[8], alpha[STEPS + 1];
#pragma unroll
  for (int j = 0; j < 8; j++) {
    scale[j] = norm[(k * 4 + SCALE) * C + fill.chunk * 8 + j];
    shift[j] = norm[(k * 4 + SHIFT) * C + fill.chunk * 8 + j];
  }
#pragma unroll
  for (int i = 0; i < STEPS; i++) alpha[i] = coefficients[k * 5 + i];
  const float beta = STEPS ? coefficients[k * 5 + 4] : 1.f;
  float sum[SPAN] = {}, square[SPAN] = {};
  __syncthreads();
  constexpr bool RESIDENT = C == 16 && STEPS == 0;  // with a history to read the registers are better spent on that
  const Convolution<RESIDENT> convolve(shared_address(tile), shared_address(packed), row0, lane);

  for (int b = blockIdx.x; b < batch; b += gridDim.x) {
    const size_t image = ((size_t)k * batch + b) * IMAGE;
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
      prefetch_image(high[i] + image, thread, 128);
      prefetch_image(low[i] + image, thread, 128);
    }
#pragma unroll 8
    for (int i = 0; i < Filler<128>::ITEMS; i++) {
      float f[8];
      unpack8(f, __ldg((const uint4*)(x + image) + fill.source(i)));
#pragma unroll
      for (int j = 0; j < 8; j++) f[j] = activate(f[j], scale[j], shift[j]);
      *(uint4*)(tile + fill.target(i)) = pack8(f);
    }
    __syncthreads();
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass++) {
      const int pixel0 = (pass * WARPS_M + warp / WARPS_N) * TILE_M;
      float acc[TILES_M][TILES_N][4];
      convolve(acc, pixel0 / W * ROW_BYTES);
      const size_t first = image + (size_t)(pixel0 + g) * C + channel0;
#pragma unroll
      for (int m = 0; m < TILES_M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          const size_t at = first + span_offset(m, half);
          float v[SPAN];
          unsigned words[SPAN / 2];
#pragma unroll
          for (int j = 0; j < SPAN; j++) v[j] = acc[m][j / 2][2 * half + j % 2];
          if constexpr (STEPS > 0) {
#pragma unroll
            for (int j = 0; j < SPAN; j++) v[j] *= beta;
#pragma unroll
            for (int i = 0; i < STEPS; i++) {
              float h[SPAN], l[SPAN];
              load_span(h, high[i] + at);
              load_span(l, low[i] + at);
#pragma unroll
              for (int j = 0; j < SPAN; j++) v[j] = fmaf(alpha[i], h[j] + l[j], v[j]);
            }
          }
#pragma unroll
          for (int j = 0; j < SPAN / 2; j++) words[j] = pack(v[2 * j], v[2 * j + 1]);
          store_span(out + at, words);
          unsigned rest[SPAN / 2];
#pragma unroll
          for (int j = 0; j < SPAN / 2; j++) {  // statistics of what the next layer reads: the rounded value
            const float2 r = unpack(words[j]);
            if constexpr (STEPS > 0) rest[j] = pack(v[2 * j] - r.x, v[2 * j + 1] - r.y);
            sum[2 * j] += r.x; square[2 * j] += r.x * r.x;
            sum[2 * j + 1] += r.y; square[2 * j + 1] += r.y * r.y;
          }
          if constexpr (STEPS > 0) store_span(out_low + at, rest);
        }
    }
    __syncthreads();
  }
  if (!training) return;
  store_sums<1>(sum, square, scratch, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, warp, lane);
  if (is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation(bn, sums, k, gridDim.x, (float)batch * PIXELS, thread, 128);
}

#define FORWARD_KERNEL(name, STEPS)                                                                                      \
  extern "C" __global__ void __launch_bounds__(128, C == 64 ? 2 : 4) name(                                               \
      const bf16* x, const float* norm, const bf16* weights, const float* coefficients, const bf16* h0, const bf16* l0,  \
      const bf16* h1, const bf16* l1, const bf16* h2, const bf16* l2, const bf16* h3, const bf16* l3, bf16* out,         \
      bf16* out_low, float* sums, int* counters, const float* gamma, const float* beta, float* running_mean,             \
      float* running_var, float* table, double momentum, double eps, int batch, int training) {                          \
    const bf16* const high[4] = {h0, h1, h2, h3};                                                                        \
    const bf16* const low[4] = {l0, l1, l2, l3};                                                                         \
    conv_forward<STEPS>(x, norm, weights, coefficients, high, low, out, out_low, sums, counters,                         \
                        {gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, batch, training);  \
  }
FORWARD_KERNEL(conv_inner, 0)
FORWARD_KERNEL(conv_step_1, 1)
FORWARD_KERNEL(conv_step_2, 2)
FORWARD_KERNEL(conv_step_3, 3)
FORWARD_KERNEL(conv_step_4, 4)

// Forward: BN-ReLU on the way in, 3x3 convolution, and on the way out the statistics that the next BN needs.
// Each activation is read once and written once.

struct Normalisation {  // what the last block of a replica does with the sums: batch norm's forward bookkeeping
  const float *gamma, *beta;
  float *running_mean, *running_var, *table;
  float momentum, eps;
};

__device__ void finish_normalisation(const Normalisation& bn, const float* sums, int k, int rows, float count, int thread) {
  __shared__ double totals[2 * C];
  const int c = k * C + thread % C;
  const float gamma = bn.gamma[c], beta = bn.beta[c], old_mean = bn.running_mean[c], old_var = bn.running_var[c];  // on their way
  add_up(totals, sums + (size_t)k * rows * 2 * C, rows, thread);
  if (thread < C) {
    const double mean = totals[thread] / count, var = fmax(totals[C + thread] / count - mean * mean, 0.0);
    const float rstd = (float)rsqrt(var + (double)bn.eps), scale = gamma * rstd;
    float* table = bn.table + (size_t)k * 4 * C + thread;
    table[SCALE * C] = scale;
    table[SHIFT * C] = beta - (float)mean * scale;
    table[MEAN * C] = (float)mean;
    table[RSTD * C] = rstd;
    const double unbiased = var * count / fmax(count - 1.f, 1.f);
    bn.running_mean[c] = old_mean + bn.momentum * ((float)mean - old_mean);
    bn.running_var[c] = old_var + bn.momentum * ((float)unbiased - old_var);
  }
}

template <int STEPS>
struct Past {  // of one span: high halves and low bytes of the states that it is summed from
  unsigned high[STEPS + 1][SPAN / 2], low[STEPS + 1][SPAN / 4];
};

// STEPS = 0: z = conv(relu(bn(x))) is stored in bf16: 2 U of traffic (U: one bf16 activation).
// STEPS > 0: y = sum_i alpha_i y_i + beta conv(...) is stored in 24 bits: (2.5 + 1.5 STEPS) U.
template <int STEPS>
__device__ void conv_forward(const bf16* __restrict__ x, const float* __restrict__ norm, const bf16* __restrict__ weights,
                             const float* __restrict__ coefficients, const bf16* const (&high)[4],
                             const signed char* const (&low)[4], bf16* __restrict__ out, signed char* __restrict__ out_low, float* __restrict__ sums,
                             int* __restrict__ counters, const Normalisation bn, int batch, int training) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ float scratch[4 * TEAMS][2 * C];
  const int k = blockIdx.y, team = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread & 31, warp = thread >> 5;
  const int g = lane >> 2, t = lane & 3;
  const int number = team * gridDim.x + blockIdx.x, teams = gridDim.x * TEAMS;  // images go to all first teams, then to the second
  unsigned char *tile = shared + team * TILE_BYTES, *packed = shared + TEAMS * TILE_BYTES;

  // The next image travels into shared memory while the tensor cores work on this one; not where there is no room, and
  // not where a history is read, which then has less of the cache.
  constexpr bool AHEAD = C > 16 && STEPS == 0;
  const Filler<128> fill(thread);
  uint4* slots = (uint4*)(packed + 9 * C * C * 2) + team * (IMAGE / 8);
  auto image_of = [&](int b) { return ((size_t)k * batch + b) * IMAGE; };
  auto ask = [&](int b) {
    if (AHEAD && b < batch)
#pragma unroll
      for (int i = 0; i < fill.ITEMS; i++) copy_async(slots + fill.source(i), (const uint4*)(x + image_of(b)) + fill.source(i));
  };

  load_weights(packed, weights + (size_t)k * 9 * C * C, threadIdx.x, FORWARD_THREADS);
  clear_tiles(tile, 1, thread, 128);
  wait_for_kernel_ahead();
  ask(number);
  float alpha[STEPS + 1];
#pragma unroll
  for (int i = 0; i < STEPS; i++) alpha[i] = coefficients[k * 5 + i];
  const float beta = STEPS ? coefficients[k * 5 + 4] : 1.f;
  float sum[SIDES][SPAN] = {}, square[SIDES][SPAN] = {};
  wait_for_copies();
  show_tensor_cores();
  __syncthreads();
  constexpr bool RESIDENT = C == 16 && STEPS == 0;  // with a history to read the registers are better spent on that
  const Convolution<RESIDENT> convolve(shared_address(tile), shared_address(packed), lane);

  for (int b = number; b < batch; b += teams) {
    const size_t image = image_of(b);
    float scale[8], shift[8];
    load_chunk(scale, norm + (k * 4 + SCALE) * C + fill.chunk * 8);
    load_chunk(shift, norm + (k * 4 + SHIFT) * C + fill.chunk * 8);
    wait_for_copies();
#pragma unroll 8
    for (int i = 0; i < fill.ITEMS; i++) {
      float f[8];
      unpack8(f, AHEAD ? slots[fill.source(i)] : __ldg((const uint4*)(x + image) + fill.source(i)));
#pragma unroll
      for (int j = 0; j < 8; j++) f[j] = activate(f[j], scale[j], shift[j]);
      *(uint4*)(tile + fill.target(i)) = pack8(f);
    }
    show_tensor_cores();
    wait_for_team(team);
    ask(b + teams);
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass++) {
      const int at = pass * 4 + warp;
      const size_t first = image + (size_t)(tile_pixel(at) + g) * C + SPAN * t;
      // The history of span i travels while the tensor cores work, or while the spans before it are summed.
      constexpr int PASTS = C == 16 ? 4 : C == 32 && STEPS < 4 ? 2 : 1;
      Past<STEPS> past[PASTS];
      auto ask_history = [&](int i) {
#pragma unroll
        for (int n = 0; n < STEPS; n++) {
          load_ahead(past[i % PASTS].high[n], high[n] + first + span_offset(i));
          load_ahead(past[i % PASTS].low[n], low[n] + first + span_offset(i));
        }
      };
#pragma unroll
      for (int i = 0; i < PASTS; i++) ask_history(i);
      float acc[TILES_M][TILES_N][4];
      convolve(acc, 0, at);
#pragma unroll
      for (int i = 0; i < SPANS; i++) {
        const size_t place = first + span_offset(i);
        const int side = span_side(i);
        float v[SPAN];
#pragma unroll
        for (int j = 0; j < SPAN; j++) v[j] = acc[span_strip(i)][side * GROUP / 8 + j / 2][2 * span_half(i) + j % 2];
        if constexpr (STEPS > 0) {
#pragma unroll
          for (int j = 0; j < SPAN; j++) v[j] *= beta;
#pragma unroll
          for (int n = 0; n < STEPS; n++) {
            const Past<STEPS>& from = past[i % PASTS];
#pragma unroll
            for (int j = 0; j < SPAN; j++) v[j] = fmaf(alpha[n], join(from.high[n], from.low[n], j), v[j]);
          }
          if (i + PASTS < SPANS) ask_history(i + PASTS);
        }
        unsigned words[SPAN / 2], rest[SPAN / 4], bytes[SPAN];
#pragma unroll
        for (int j = 0; j < SPAN / 2; j++) {  // statistics of what the next layer reads: the rounded value
          words[j] = pack(v[2 * j], v[2 * j + 1]);
          const float2 r = unpack(words[j]);
          bytes[2 * j] = low_byte(v[2 * j], r.x);
          bytes[2 * j + 1] = low_byte(v[2 * j + 1], r.y);
          sum[side][2 * j] += r.x; square[side][2 * j] += r.x * r.x;
          sum[side][2 * j + 1] += r.y; square[side][2 * j + 1] += r.y * r.y;
        }
        store_span(out + place, words);
        if constexpr (STEPS > 0) {
#pragma unroll
          for (int j = 0; j < SPAN / 4; j++)  // the second bytes of four words
            rest[j] = __byte_perm(__byte_perm(bytes[4 * j], bytes[4 * j + 1], 0x0051),
                                  __byte_perm(bytes[4 * j + 2], bytes[4 * j + 3], 0x0051), 0x5410);
          store_span(out_low + place, rest);
        }
      }
    }
    wait_for_team(team);
  }
  if (!training) return;
  store_sums(sum, square, scratch, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, team * 4 + warp, lane);
  if (team == 0 && is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation(bn, sums, k, gridDim.x, (float)batch * PIXELS, thread);
}

#define FORWARD_KERNEL(name, STEPS)                                                                                      \
  extern "C" __global__ void __launch_bounds__(FORWARD_THREADS, FORWARD_RESIDENT) name(                                               \
      const bf16* x, const float* norm, const bf16* weights, const float* coefficients, const bf16* h0,                  \
      const signed char* l0, const bf16* h1, const signed char* l1, const bf16* h2, const signed char* l2,               \
      const bf16* h3, const signed char* l3, bf16* out, signed char* out_low, float* sums, int* counters, const float* gamma, const float* beta, float* running_mean,             \
      float* running_var, float* table, double momentum, double eps, int batch, int training) {                          \
    const bf16* const high[4] = {h0, h1, h2, h3};                                                                        \
    const signed char* const low[4] = {l0, l1, l2, l3};                                                                  \
    conv_forward<STEPS>(x, norm, weights, coefficients, high, low, out, out_low, sums, counters,                         \
                        {gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, batch, training);  \
  }
// All of them, unless only a PIECE of the program is asked for: pieces are compiled side by side, to the same code. (A
// kernel all alone would be another: what has one caller is inlined earlier.)
#if !defined(PIECE) || PIECE == 1
FORWARD_KERNEL(conv_inner, 0)
FORWARD_KERNEL(conv_step_1, 1)
#endif
#if !defined(PIECE) || PIECE == 2
FORWARD_KERNEL(conv_step_2, 2)
FORWARD_KERNEL(conv_step_3, 3)
FORWARD_KERNEL(conv_step_4, 4)
#endif

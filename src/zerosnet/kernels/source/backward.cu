// Backward of one convolution in one kernel. Four warps compute the gradient of its input (with the ReLU mask and the two
// sums of batch norm's backward), the others the gradient of its weights, from the same two images in shared memory:
// g, the gradient of the convolution's output, and a = relu(bn(x)), its input.
constexpr int FILL_THREADS = STAGES == 2 ? WEIGHT_THREADS : BACKWARD_THREADS;

struct GradientNorm {  // what the last block does with the sums: batch norm's backward bookkeeping
  const float* norm;   // the forward table of the same batch norm
  float *gamma_grad, *beta_grad, *table;
};

__device__ void finish_gradient_norm(const GradientNorm& bn, const float* sums, int k, int rows, float count, int training,
                                     int thread) {
  __shared__ double totals[2 * C];
  const float* norm = bn.norm + (size_t)k * 4 * C + thread % C;
  const float scale = norm[SCALE * C], rstd = norm[RSTD * C], mean = norm[MEAN * C];  // on their way
  add_up(totals, sums + (size_t)k * rows * 2 * C, rows, thread);
  if (thread < C) {
    float* table = bn.table + (size_t)k * 4 * C + thread;
    // sum dzhat xhat, from sum dzhat x
    const double projection = (totals[C + thread] - (double)mean * totals[thread]) * rstd;
    bn.beta_grad[k * C + thread] = (float)totals[thread];
    bn.gamma_grad[k * C + thread] = (float)projection;
    table[GAIN * C] = scale;
    table[SLOPE * C] = training ? -scale * rstd * (float)(projection / count) : 0.f;
    table[CENTRE * C] = mean;
    table[OFFSET * C] = training ? -scale * (float)(totals[thread] / count) : 0.f;
  }
}

// OUTER = false, second convolution of f: g = beta G, G the gradient of the new state. G and x in, dzhat out: 3 U.
// OUTER = true, first convolution of f: g = batch norm's backward of (dzhat, z). Both and x in, dyhat out: 4 U.
// Beside that a block writes its part of the weight gradient, 36 C^2 bytes.
template <bool OUTER>
__device__ void conv_backward(const bf16* __restrict__ gradient, const bf16* __restrict__ z, const float* __restrict__ z_table,
                              const float* __restrict__ coefficients, const bf16* __restrict__ x, const bf16* __restrict__ weights,
                              bf16* __restrict__ out, float* __restrict__ sums, int* __restrict__ counters,
                              float* __restrict__ weight_parts, const GradientNorm bn, int batch, int training,
                              int want_weights) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ float scratch[4][2 * C];
  unsigned char* packed = shared + STAGES * STAGE_BYTES;
  const int k = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const int rounds = (batch - blockIdx.x + gridDim.x - 1) / gridDim.x;  // its images are blockIdx.x, + gridDim.x, ...

  load_weights(packed, weights + (size_t)k * 9 * C * C, thread, BACKWARD_THREADS);
  clear_tiles(shared, 2 * STAGES, thread, BACKWARD_THREADS);
  wait_for_kernel_ahead();
  const Filler<FILL_THREADS> fill(thread - (BACKWARD_THREADS - FILL_THREADS));  // with two stages not for the first four warps
  auto image_of = [&](int round) { return ((size_t)k * batch + blockIdx.x + round * gridDim.x) * (IMAGE / 8); };
  struct Raw { uint4 gradient, z, x; };
  // With two stages an image is asked for in one round, into slots of shared memory, and filled in in the next.
  Raw* slots = (Raw*)(packed + 9 * C * C * 2);
  auto ask = [&](int round) {
    if (round >= rounds) return;
#pragma unroll
    for (int i = 0; i < fill.ITEMS; i++)
      if (fill.has(i)) {
        const size_t at = image_of(round) + fill.source(i);
        Raw* slot = slots + fill.source(i);
        copy_async(&slot->gradient, (const uint4*)gradient + at);
        if constexpr (OUTER) copy_async(&slot->z, (const uint4*)z + at);
        copy_async(&slot->x, (const uint4*)x + at);
      }
  };
  // With one stage they go through registers. The first image, or a part of it, travels while the tables do.
  auto load = [&](int round, int i) {
    const size_t at = image_of(round) + fill.source(i);
    Raw raw = {__ldg((const uint4*)gradient + at), make_uint4(0, 0, 0, 0), __ldg((const uint4*)x + at)};
    if constexpr (OUTER) raw.z = __ldg((const uint4*)z + at);
    return raw;
  };
  constexpr int AT_ONCE = 4;
  Raw ahead[AT_ONCE];
  if constexpr (STAGES == 1)
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) ahead[i] = load(0, i);
  else if (warp >= 4) ask(0);
  const float beta = OUTER ? 0.f : coefficients[k * 5 + 4];
  // What turns memory into g and a: scale and shift of x; gain, slope and offset of (dzhat, z). Where a thread has many
  // items an image the first two are worth registers.
  constexpr bool IN_REGISTERS = C == 16;
  __shared__ __align__(16) float tables[5][C];
  float own[2][8];
  if (thread < C) {
    const float* row = bn.norm + (size_t)k * 4 * C + thread;
    const float* z_row = z_table + (size_t)k * 4 * C + thread;
    const int place = table_place(thread / 8, thread % 8);
    tables[0][place] = row[SCALE * C];
    tables[1][place] = row[SHIFT * C];
    if constexpr (OUTER) {
      tables[2][place] = z_row[GAIN * C];
      tables[3][place] = z_row[SLOPE * C];
      tables[4][place] = z_row[OFFSET * C] - z_row[SLOPE * C] * z_row[CENTRE * C];
    }
  }
  wait_for_copies();
  show_tensor_cores();
  __syncthreads();
  auto shared_table = [&](int i, int j) { return tables[i][table_place(fill.chunk, j)]; };
  if constexpr (IN_REGISTERS)
#pragma unroll
    for (int j = 0; j < 8; j++) { own[0][j] = shared_table(0, j); own[1][j] = shared_table(1, j); }
  auto table = [&](int i, int j) { return IN_REGISTERS && i < 2 ? own[i % 2][j] : shared_table(i, j); };

  auto commit = [&](const Raw& raw, unsigned char* to) {
    float f[8], v[8];
    unpack8(f, raw.gradient);
    unpack8(v, raw.z);
#pragma unroll
    for (int j = 0; j < 8; j++) f[j] = OUTER ? fmaf(table(2, j), f[j], fmaf(table(3, j), v[j], table(4, j))) : beta * f[j];
    *(uint4*)to = pack8(f);
    unpack8(f, raw.x);
#pragma unroll
    for (int j = 0; j < 8; j++) f[j] = activate(f[j], table(0, j), table(1, j));
    *(uint4*)(to + TILE_BYTES) = pack8(f);
  };

  // One stage: all threads fill it, then all work on it.
  auto fill_from = [&](int round, int first) {
#pragma unroll AT_ONCE
    for (int i = first; i < fill.ITEMS; i++) commit(load(round, i), shared + fill.target(i));
  };
  auto fill_at_once = [&](int round) {
    if (round > 0) fill_from(round, 0);
    wait_at<BACKWARD_THREADS>(ROUND);
  };
  if constexpr (STAGES == 1) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) commit(ahead[i], shared + fill.target(i));
    fill_from(0, AT_ONCE);
  }
  // Two: they are filled by the weight warps, one ahead.
  auto fill_ahead = [&](int round) {
    if (round >= rounds) return;
    if (round >= STAGES) wait_at<BACKWARD_THREADS>(EMPTY + round % STAGES);
    wait_for_copies();
#pragma unroll
    for (int i = 0; i < fill.ITEMS; i++)
      if (fill.has(i)) commit(slots[fill.source(i)], shared + round % STAGES * STAGE_BYTES + fill.target(i));
    show_tensor_cores();
    arrive_at<BACKWARD_THREADS>(FULL + round % STAGES);
    ask(round + 1);
  };

  if (warp < 4) {
    if constexpr (C == 64) have_registers<104, false>();
    const int g = lane >> 2, t = lane & 3;
    const Convolution<C == 16> convolve(shared_address(shared), shared_address(packed), lane);
    const unsigned activated = TILE_BYTES + ROW_BYTES + swizzled(g + 1, SPAN * t / 8) + (SPAN * t % 8) * 2;
    float first[SIDES][SPAN] = {}, second[SIDES][SPAN] = {};
    for (int round = 0; round < rounds; round++) {
      if constexpr (STAGES == 1) fill_at_once(round);
      else wait_at<BACKWARD_THREADS>(FULL + round % STAGES);
#pragma unroll 1
      for (int pass = 0; pass < PASSES; pass++) {
        const int tile = pass * 4 + warp;
        const unsigned from = round % STAGES * STAGE_BYTES + tile_offset(tile);
        const size_t start = image_of(round) * 8 + (tile_pixel(tile) + g) * C + SPAN * t;
        constexpr int RAWS = C == 32 ? 2 : SPANS;  // x of span i travels while the tensor cores work
        unsigned raw[RAWS][SPAN / 2];
#pragma unroll
        for (int i = 0; i < RAWS; i++) load_ahead(raw[i], x + start + span_offset(i));
        float acc[TILES_M][TILES_N][4];
        convolve(acc, round % STAGES * STAGE_BYTES, tile);
#pragma unroll
        for (int i = 0; i < SPANS; i++) {
          const int side = span_side(i);
          float in[SPAN];
          unsigned words[SPAN / 2], open[SPAN / 2];
          unpack_words<SPAN / 2>(in, raw[i % RAWS]);
          if (i + RAWS < SPANS) load_ahead(raw[i % RAWS], x + start + span_offset(i + RAWS));
          load_words(open, shared + ((activated + from + span_bytes(i)) ^ span_chunk(i)));
#pragma unroll
          for (int j = 0; j < SPAN / 2; j++) {
            // a is never negative: adding 0x7fff to a half carries into its top bit exactly where a > 0
            const unsigned mask = ((open[j] + 0x7fff7fffu) >> 15 & 0x00010001u) * 0xffffu;
            const float* product = acc[span_strip(i)][side * GROUP / 8 + j] + 2 * span_half(i);
            words[j] = pack(product[0], product[1]) & mask;
            const float2 r = unpack(words[j]);
            first[side][2 * j] += r.x;
            first[side][2 * j + 1] += r.y;
            second[side][2 * j] = fmaf(r.x, in[2 * j], second[side][2 * j]);
            second[side][2 * j + 1] = fmaf(r.y, in[2 * j + 1], second[side][2 * j + 1]);
          }
          store_span(out + start + span_offset(i), words);
        }
      }
      if constexpr (STAGES == 1) wait_at<BACKWARD_THREADS>(ROUND);
      else if (round + STAGES < rounds) arrive_at<BACKWARD_THREADS>(EMPTY + round % STAGES);
    }
    store_sums(first, second, scratch, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, warp, lane);
    if (is_last_block(counters + k, gridDim.x, thread))
      finish_gradient_norm(bn, sums, k, gridDim.x, (float)batch * PIXELS, training, thread);
  } else {
    if constexpr (C == 64) have_registers<136, true>();  // most of them are sums
    WeightGradient gradient_of_weights;
    if constexpr (STAGES == 2) fill_ahead(0);
    for (int round = 0; round < rounds; round++) {
      if constexpr (STAGES == 1) fill_at_once(round);
      else wait_at<WEIGHT_THREADS>(WEIGHT_TEAM);  // each has filled in its part
      const unsigned stage = shared_address(shared) + round % STAGES * STAGE_BYTES;
      if (STAGES == 2 || want_weights) gradient_of_weights.begin(stage, warp - 4, lane);
      if constexpr (STAGES == 2) fill_ahead(round + 1);  // while the tensor cores work
      if (STAGES == 2 || want_weights) gradient_of_weights.finish();
      if constexpr (STAGES == 1) wait_at<BACKWARD_THREADS>(ROUND);
    }
    if (want_weights)
      gradient_of_weights.store(weight_parts + ((size_t)k * gridDim.x + blockIdx.x) * 9 * C * C, (float*)shared, warp - 4, lane);
  }
}

#define BACKWARD_KERNEL(name, OUTER)                                                                                     \
  extern "C" __global__ void __launch_bounds__(BACKWARD_THREADS, BACKWARD_RESIDENT) name(                                  \
      const bf16* gradient, const bf16* z, const float* z_table, const float* coefficients, const bf16* x,               \
      const bf16* weights, bf16* out, float* sums, int* counters, float* weight_parts, const float* norm,                \
      float* gamma_grad, float* beta_grad, float* table, int batch, int training, int want_weights) {                    \
    conv_backward<OUTER>(gradient, z, z_table, coefficients, x, weights, out, sums, counters, weight_parts,              \
                         {norm, gamma_grad, beta_grad, table}, batch, training, want_weights);                           \
  }
BACKWARD_KERNEL(conv_backward_inner, false)
BACKWARD_KERNEL(conv_backward_outer, true)

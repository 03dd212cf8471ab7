// What surrounds the blocks: stage changes, pool, and (stem.cu) the stem. All of it is bound by memory.
// A thread asks for several chunks before it uses the first: memory is far away.
constexpr int EDGE_THREADS = 256, AT_ONCE = 4;

// Two sums for each of the 8 channels of a thread's chunk, added up over the block, into a row [2][C].
__device__ void store_chunk_sums(float (&first)[8], float (&second)[8], float* row, int thread) {
  __shared__ float warps[EDGE_THREADS / 32][2][C];
  const int lane = thread & 31, warp = thread >> 5;
#pragma unroll
  for (int j = 0; j < 8; j++) {
#pragma unroll
    for (int o = CHUNKS; o < 32; o <<= 1) {
      first[j] += __shfl_xor_sync(~0u, first[j], o);
      second[j] += __shfl_xor_sync(~0u, second[j], o);
    }
    if (lane < CHUNKS) {
      warps[warp][0][lane * 8 + j] = first[j];
      warps[warp][1][lane * 8 + j] = second[j];
    }
  }
  __syncthreads();
  if (thread < 2 * C) {
    float sum = 0.f;
    for (int w = 0; w < EDGE_THREADS / 32; w++) sum += warps[w][thread / C][thread % C];
    row[thread] = sum;
  }
}

// Statistics of x for the batch norm that follows. 1 U.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
channel_statistics(const bf16* x, float* sums, int* counters, const float* gamma, const float* beta, float* running_mean,
                   float* running_var, float* table, double momentum, double eps, int batch) {
  const int k = blockIdx.y, thread = threadIdx.x, items = batch * PIXELS * CHUNKS;
  wait_for_kernel_ahead();
  const int stride = gridDim.x * EDGE_THREADS;
  float sum[8] = {}, square[8] = {}, f[8];
  for (int first = blockIdx.x * EDGE_THREADS + thread; first < items; first += AT_ONCE * stride) {
    uint4 words[AT_ONCE];
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      words[n] = make_uint4(0, 0, 0, 0);
      if (first + n * stride < items) words[n] = __ldg((const uint4*)x + (size_t)k * items + first + n * stride);
    }
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      unpack8(f, words[n]);
#pragma unroll
      for (int j = 0; j < 8; j++) { sum[j] += f[j]; square[j] = fmaf(f[j], f[j], square[j]); }
    }
  }
  store_chunk_sums(sum, square, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, thread);
  if (thread < 128 && is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation({gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, sums, k, gridDim.x,
                         (float)batch * PIXELS, thread);
}

// The 3x3 neighbourhoods of relu(bn(x)) at every second pixel, (K, B, W/2, W/2, 9, C). 1 U in, 9/4 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
activated_patches(const bf16* x, const float* norm, bf16* out, int batch) {
  const int k = blockIdx.y, items = batch * (PIXELS / 4) * 9 * CHUNKS, chunk = threadIdx.x % CHUNKS;  // the same in every turn
  wait_for_kernel_ahead();
  float scale[8], shift[8];
  load_chunk(scale, norm + ((size_t)k * 4 + SCALE) * C + chunk * 8);
  load_chunk(shift, norm + ((size_t)k * 4 + SHIFT) * C + chunk * 8);
  const int stride = gridDim.x * EDGE_THREADS;
  for (int first = blockIdx.x * EDGE_THREADS + threadIdx.x; first < items; first += AT_ONCE * stride) {
    uint4 v[AT_ONCE];
    bool inside[AT_ONCE];
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      const int i = first + n * stride, tap = (i / CHUNKS) % 9, q = i / (CHUNKS * 9), b = q / (PIXELS / 4), o = q % (PIXELS / 4);
      const int row = 2 * (o / (W / 2)) + tap / 3 - 1, column = 2 * (o % (W / 2)) + tap % 3 - 1;
      inside[n] = i < items && row >= 0 && row < W && column >= 0 && column < W;
      v[n] = make_uint4(0, 0, 0, 0);
      if (inside[n]) v[n] = __ldg((const uint4*)x + (((size_t)k * batch + b) * PIXELS + row * W + column) * CHUNKS + chunk);
    }
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      float f[8];
      unpack8(f, v[n]);
#pragma unroll
      for (int j = 0; j < 8; j++) f[j] = inside[n] ? activate(f[j], scale[j], shift[j]) : 0.f;
      if (first + n * stride < items) ((uint4*)out)[(size_t)k * items + first + n * stride] = pack8(f);
    }
  }
}

struct GradientSums {  // the tail that the two kernels below share: sums of dzhat and dzhat x, and batch norm's bookkeeping
  float first[8] = {}, second[8] = {}, scale[8], shift[8];
  __device__ __forceinline__ GradientSums(const float* norm) {  // of the thread's chunk, which is the same in every turn
    const float* table = norm + (size_t)blockIdx.y * 4 * C + threadIdx.x % CHUNKS * 8;
    load_chunk(scale, table + SCALE * C);
    load_chunk(shift, table + SHIFT * C);
  }
  __device__ __forceinline__ uint4 add(float (&v)[8], const float (&x)[8]) {
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = fmaf(x[j], scale[j], shift[j]) <= 0.f ? 0.f : v[j];
    const uint4 words = pack8(v);
    unpack8(v, words);
#pragma unroll
    for (int j = 0; j < 8; j++) { first[j] += v[j]; second[j] = fmaf(v[j], x[j], second[j]); }
    return words;
  }
  __device__ __forceinline__ void finish(float* sums, int* counters, const GradientNorm& bn, int batch, int training) {
    const int k = blockIdx.y, thread = threadIdx.x;
    store_chunk_sums(first, second, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, thread);
    if (thread < 128 && is_last_block(counters + k, gridDim.x, thread))
      finish_gradient_norm(bn, sums, k, gridDim.x, (float)batch * PIXELS, training, thread);
  }
};

// Adjoint of activated_patches, and the ReLU mask. A thread has a square of four pixels, which nine places reach, each
// one of them: 9/4 U and 1 U in, 1 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS, 2)
gather_patches(const bf16* columns, const bf16* x, bf16* out, float* sums, int* counters, const float* norm,
               float* gamma_grad, float* beta_grad, float* table, int batch, int training) {
  constexpr int HALF = W / 2;
  const int k = blockIdx.y, items = batch * (PIXELS / 4) * CHUNKS;
  wait_for_kernel_ahead();
  GradientSums tail(norm);
  for (int i = blockIdx.x * EDGE_THREADS + threadIdx.x; i < items; i += gridDim.x * EDGE_THREADS) {
    const int chunk = i % CHUNKS, q = (i / CHUNKS) % (PIXELS / 4), b = i / (CHUNKS * (PIXELS / 4)), row = q / HALF, column = q % HALF;
    const size_t image = (size_t)k * batch + b;
    auto pixel = [&](int p) { return (image * PIXELS + (2 * row + p / 2) * W + 2 * column + p % 2) * CHUNKS + chunk; };
    uint4 through[9], own[4];
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
      const int y = row + (tap / 3 == 0), at = column + (tap % 3 == 0);  // tap 0 is that of the next place
      through[tap] = make_uint4(0, 0, 0, 0);
      if (y < HALF && at < HALF)
        through[tap] = __ldg((const uint4*)columns + ((image * (PIXELS / 4) + y * HALF + at) * 9 + tap) * CHUNKS + chunk);
    }
#pragma unroll
    for (int p = 0; p < 4; p++) own[p] = __ldg((const uint4*)x + pixel(p));
#pragma unroll
    for (int p = 0; p < 4; p++) {
      float v[8] = {}, f[8];
#pragma unroll
      for (int tap = 0; tap < 9; tap++) {
        if ((tap / 3 != 1) != p / 2 || (tap % 3 != 1) != p % 2) continue;  // known to the compiler
        unpack8(f, through[tap]);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] += f[j];
      }
      unpack8(f, own[p]);
      ((uint4*)out)[pixel(p)] = tail.add(v, f);
    }
  }
  tail.finish(sums, counters, {norm, gamma_grad, beta_grad, table}, batch, training);
}

// Every second pixel in both directions, (K, B, W/2, W/2, C). 1/4 U in, 1/4 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS) take_even(const bf16* x, bf16* out, int batch) {
  const int k = blockIdx.y, items = batch * (PIXELS / 4) * CHUNKS;
  wait_for_kernel_ahead();
  for (int i = blockIdx.x * EDGE_THREADS + threadIdx.x; i < items; i += gridDim.x * EDGE_THREADS) {
    const int chunk = i % CHUNKS, q = (i / CHUNKS) % (PIXELS / 4), b = i / (CHUNKS * (PIXELS / 4));
    const int pixel = 2 * (q / (W / 2)) * W + 2 * (q % (W / 2));
    ((uint4*)out)[(size_t)k * items + i] = __ldg((const uint4*)x + (((size_t)k * batch + b) * PIXELS + pixel) * CHUNKS + chunk);
  }
}

// Average pool of relu(bn(x)), (K, B, C) floats; one block an image. 1 U.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS) pool(const bf16* x, const float* norm, float* out, int batch) {
  __shared__ float totals[2 * C];
  const int k = blockIdx.y, b = blockIdx.x, thread = threadIdx.x, chunk = thread % CHUNKS;
  wait_for_kernel_ahead();
  const float* table = norm + (size_t)k * 4 * C;
  float sum[8] = {}, unused[8] = {}, f[8], scale[8], shift[8];
  load_chunk(scale, table + SCALE * C + chunk * 8);
  load_chunk(shift, table + SHIFT * C + chunk * 8);
  for (int i = thread; i < PIXELS * CHUNKS; i += EDGE_THREADS) {
    unpack8(f, __ldg((const uint4*)x + ((size_t)k * batch + b) * PIXELS * CHUNKS + i));
#pragma unroll
    for (int j = 0; j < 8; j++) sum[j] += activate(f[j], scale[j], shift[j]);
  }
  store_chunk_sums(sum, unused, totals, thread);
  __syncthreads();
  for (int c = thread; c < C; c += EDGE_THREADS) out[((size_t)k * batch + b) * C + c] = totals[c] / PIXELS;
}

// Backward of the pool and its ReLU, from (K, B, C) floats to dzhat. 1 U in, 1 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
pool_backward(const float* gradient, const bf16* x, bf16* out, float* sums, int* counters, const float* norm,
              float* gamma_grad, float* beta_grad, float* table, int batch, int training) {
  const int k = blockIdx.y, items = batch * PIXELS * CHUNKS;
  wait_for_kernel_ahead();
  GradientSums tail(norm);
  for (int i = blockIdx.x * EDGE_THREADS + threadIdx.x; i < items; i += gridDim.x * EDGE_THREADS) {
    const int chunk = i % CHUNKS, b = i / (CHUNKS * PIXELS);
    float v[8], f[8];
    load_chunk(v, gradient + ((size_t)k * batch + b) * C + chunk * 8);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] *= 1.f / PIXELS;
    unpack8(f, __ldg((const uint4*)x + (size_t)k * items + i));
    ((uint4*)out)[(size_t)k * items + i] = tail.add(v, f);
  }
  tail.finish(sums, counters, {norm, gamma_grad, beta_grad, table}, batch, training);
}

// What surrounds the blocks: stem, stage changes, pool. All of it is bound by memory.
constexpr int EDGE_THREADS = 256;

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
  for (int i = thread; i < 2 * C; i += EDGE_THREADS) {
    float sum = 0.f;
    for (int w = 0; w < EDGE_THREADS / 32; w++) sum += warps[w][i / C][i % C];
    row[i] = sum;
  }
}

// Statistics of x for the batch norm that follows. 1 U.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
channel_statistics(const bf16* x, float* sums, int* counters, const float* gamma, const float* beta, float* running_mean,
                   float* running_var, float* table, double momentum, double eps, int batch) {
  const int k = blockIdx.y, thread = threadIdx.x, items = batch * PIXELS * CHUNKS;
  float sum[8] = {}, square[8] = {}, f[8];
  for (int i = blockIdx.x * EDGE_THREADS + thread; i < items; i += gridDim.x * EDGE_THREADS) {
    unpack8(f, __ldg((const uint4*)x + (size_t)k * items + i));
#pragma unroll
    for (int j = 0; j < 8; j++) { sum[j] += f[j]; square[j] = fmaf(f[j], f[j], square[j]); }
  }
  store_chunk_sums(sum, square, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, thread);
  if (is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation({gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, sums, k, gridDim.x,
                         (float)batch * PIXELS, thread, EDGE_THREADS);
}

// The 3x3 neighbourhoods of relu(bn(x)) at every second pixel, (K, B, W/2, W/2, 9, C). 1 U in, 9/4 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
activated_patches(const bf16* x, const float* norm, bf16* out, int batch) {
  const int k = blockIdx.y, items = batch * (PIXELS / 4) * 9 * CHUNKS, chunk = threadIdx.x % CHUNKS;  // the same in every turn
  float scale[8], shift[8];
  load_chunk(scale, norm + ((size_t)k * 4 + SCALE) * C + chunk * 8);
  load_chunk(shift, norm + ((size_t)k * 4 + SHIFT) * C + chunk * 8);
  for (int i = blockIdx.x * EDGE_THREADS + threadIdx.x; i < items; i += gridDim.x * EDGE_THREADS) {
    const int tap = (i / CHUNKS) % 9, q = i / (CHUNKS * 9), b = q / (PIXELS / 4), o = q % (PIXELS / 4);
    const int row = 2 * (o / (W / 2)) + tap / 3 - 1, column = 2 * (o % (W / 2)) + tap % 3 - 1;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (row >= 0 && row < W && column >= 0 && column < W) {
      float f[8];
      unpack8(f, __ldg((const uint4*)x + (((size_t)k * batch + b) * PIXELS + row * W + column) * CHUNKS + chunk));
#pragma unroll
      for (int j = 0; j < 8; j++) f[j] = activate(f[j], scale[j], shift[j]);
      v = pack8(f);
    }
    ((uint4*)out)[(size_t)k * items + i] = v;
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
    if (is_last_block(counters + k, gridDim.x, thread))
      finish_gradient_norm(bn, sums, k, gridDim.x, (float)batch * PIXELS, training, thread, EDGE_THREADS);
  }
};

// Adjoint of activated_patches, and the ReLU mask. A thread has a square of four pixels, which nine places reach, each
// one of them: 9/4 U and 1 U in, 1 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
gather_patches(const bf16* columns, const bf16* x, bf16* out, float* sums, int* counters, const float* norm,
               float* gamma_grad, float* beta_grad, float* table, int batch, int training) {
  constexpr int HALF = W / 2;
  const int k = blockIdx.y, items = batch * (PIXELS / 4) * CHUNKS;
  GradientSums tail(norm);
  for (int i = blockIdx.x * EDGE_THREADS + threadIdx.x; i < items; i += gridDim.x * EDGE_THREADS) {
    const int chunk = i % CHUNKS, q = (i / CHUNKS) % (PIXELS / 4), b = i / (CHUNKS * (PIXELS / 4)), row = q / HALF, column = q % HALF;
    const size_t image = (size_t)k * batch + b;
    float v[2][2][8] = {};
#pragma unroll
    for (int dy = 0; dy < 3; dy++)
#pragma unroll
      for (int dx = 0; dx < 3; dx++) {
        const int y = row + (dy == 0), at = column + (dx == 0);  // tap 0 is that of the next place
        if (y >= HALF || at >= HALF) continue;
        float f[8];
        unpack8(f, __ldg((const uint4*)columns + ((image * (PIXELS / 4) + y * HALF + at) * 9 + dy * 3 + dx) * CHUNKS + chunk));
#pragma unroll
        for (int j = 0; j < 8; j++) v[dy != 1][dx != 1][j] += f[j];
      }
#pragma unroll
    for (int p = 0; p < 4; p++) {
      const size_t pixel = (image * PIXELS + (2 * row + p / 2) * W + 2 * column + p % 2) * CHUNKS + chunk;
      float f[8];
      unpack8(f, __ldg((const uint4*)x + pixel));
      ((uint4*)out)[pixel] = tail.add(v[p / 2][p % 2], f);
    }
  }
  tail.finish(sums, counters, {norm, gamma_grad, beta_grad, table}, batch, training);
}

// Every second pixel in both directions, (K, B, W/2, W/2, C). 1/4 U in, 1/4 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS) take_even(const bf16* x, bf16* out, int batch) {
  const int k = blockIdx.y, items = batch * (PIXELS / 4) * CHUNKS;
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

#if CHANNELS == 16
// The stem, a 3x3 convolution of images with up to 3 channels. Images are float (B, K in, W, W) with any strides, in bf16
// like every operand of a convolution here; patch entries are ordered (channel, tap).
constexpr int MAX_IN = 3, IMAGE_PITCH = W + 4;

struct Images {
  const float* pixels;
  int channels, batch_stride, channel_stride, row_stride, column_stride;
};

__device__ __forceinline__ float rounded(float v) { return unpack(pack(v, 0.f)).x; }

template <class Store>
__device__ __forceinline__ void load_image(const Images& images, int k, int b, int thread, Store store) {
  for (int i = thread; i < images.channels * PIXELS; i += EDGE_THREADS) {
    const int c = i % images.channels, pixel = i / images.channels;
    const size_t at = (size_t)b * images.batch_stride + (size_t)(k * images.channels + c) * images.channel_stride +
                      (pixel / W) * images.row_stride + (pixel % W) * images.column_stride;
    store((c * (W + 2) + pixel / W + 1) * IMAGE_PITCH + pixel % W + 1, images.pixels[at]);
  }
}

// y_0 = conv(images), with the statistics for the first batch norm. The images in, 1 U out.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS, 2)
stem_forward(const float* pixels, const float* weights, bf16* out, float* sums, int* counters, const float* gamma,
             const float* beta, float* running_mean, float* running_var, float* table, double momentum, double eps,
             int batch, int channels, int batch_stride, int channel_stride, int row_stride, int column_stride,
             int in_stride, int tap_stride, int training) {
  __shared__ float image[MAX_IN * (W + 2) * IMAGE_PITCH];
  __shared__ __align__(16) float w[MAX_IN * 9][C];
  __shared__ float warps[EDGE_THREADS / 32][2][C];
  const Images images = {pixels, channels, batch_stride, channel_stride, row_stride, column_stride};
  const int k = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  for (int i = thread; i < MAX_IN * (W + 2) * IMAGE_PITCH; i += EDGE_THREADS) image[i] = 0.f;
  for (int i = thread; i < channels * 9 * C; i += EDGE_THREADS) {
    const int co = i % C, n = i / C;
    w[n][co] = rounded(weights[(size_t)(k * C + co) * channels * 9 + (n / 9) * in_stride + (n % 9) * tap_stride]);
  }
  float sum[C] = {}, square[C] = {};
  for (int b = blockIdx.x; b < batch; b += gridDim.x) {
    __syncthreads();
    load_image(images, k, b, thread, [&](int at, float v) { image[at] = rounded(v); });
    __syncthreads();
    constexpr int ROWS = EDGE_THREADS / W, MINE = PIXELS / EDGE_THREADS;  // a thread's pixels: one column, every ROWS-th row
    const int row = thread / W, column = thread % W;
    float acc[MINE][C] = {};
    for (int c = 0; c < channels; c++)
#pragma unroll
      for (int tap = 0; tap < 9; tap++) {
        const float* v = image + (c * (W + 2) + row + tap / 3) * IMAGE_PITCH + column + tap % 3;
#pragma unroll
        for (int co = 0; co < C; co++) {
          const float weight = w[c * 9 + tap][co];
#pragma unroll
          for (int n = 0; n < MINE; n++) acc[n][co] = fmaf(v[n * ROWS * IMAGE_PITCH], weight, acc[n][co]);
        }
      }
#pragma unroll
    for (int n = 0; n < MINE; n++) {
      unsigned words[C / 2];
#pragma unroll
      for (int j = 0; j < C / 2; j++) {
        words[j] = pack(acc[n][2 * j], acc[n][2 * j + 1]);
        const float2 r = unpack(words[j]);
        sum[2 * j] += r.x; square[2 * j] = fmaf(r.x, r.x, square[2 * j]);
        sum[2 * j + 1] += r.y; square[2 * j + 1] = fmaf(r.y, r.y, square[2 * j + 1]);
      }
      uint4* to = (uint4*)(out + (((size_t)k * batch + b) * PIXELS + thread + n * EDGE_THREADS) * C);
      to[0] = make_uint4(words[0], words[1], words[2], words[3]);
      to[1] = make_uint4(words[4], words[5], words[6], words[7]);
    }
  }
  if (!training) return;
#pragma unroll
  for (int c = 0; c < C; c++) {
#pragma unroll
    for (int o = 16; o; o >>= 1) {
      sum[c] += __shfl_xor_sync(~0u, sum[c], o);
      square[c] += __shfl_xor_sync(~0u, square[c], o);
    }
    if (lane == 0) { warps[warp][0][c] = sum[c]; warps[warp][1][c] = square[c]; }
  }
  __syncthreads();
  for (int i = thread; i < 2 * C; i += EDGE_THREADS) {
    float total = 0.f;
    for (int n = 0; n < EDGE_THREADS / 32; n++) total += warps[n][i / C][i % C];
    sums[((size_t)k * gridDim.x + blockIdx.x) * 2 * C + i] = total;
  }
  if (is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation({gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, sums, k, gridDim.x,
                         (float)batch * PIXELS, thread, EDGE_THREADS);
}

// Gradient of the stem's weight, parts [K][blocks][16][32]: sum over pixels of g(pixel) patch(pixel)^T. The images, 1 U in.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
stem_weight_gradient(const float* pixels, const bf16* gradient, float* parts, int batch, int channels, int batch_stride,
                     int channel_stride, int row_stride, int column_stride) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ bf16 image[MAX_IN * (W + 2) * IMAGE_PITCH];
  __shared__ float warps[EDGE_THREADS / 32][16][32];
  const Images images = {pixels, channels, batch_stride, channel_stride, row_stride, column_stride};
  const int k = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  for (int i = thread; i < MAX_IN * (W + 2) * IMAGE_PITCH; i += EDGE_THREADS) image[i] = 0;
  const Filler<EDGE_THREADS> fill(thread);
  const int p = (lane & 7) + ((lane >> 4) << 3);
  const unsigned tile = shared_address(shared) + ROW_BYTES + swizzled(p + 1, (lane >> 3) & 1);
  int patch[4];  // where the patch entries of this lane's four columns begin; the last ones of fewer than 32 are never used
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int n = min(j * 8 + g, channels * 9 - 1);
    patch[j] = ((n / 9) * (W + 2) + (n % 9) / 3) * IMAGE_PITCH + n % 3 + 2 * t;
  }
  float acc[4][4] = {};
  for (int b = blockIdx.x; b < batch; b += gridDim.x) {
    __syncthreads();
    load_image(images, k, b, thread, [&](int at, float v) { image[at] = (bf16)pack(v, 0.f); });
#pragma unroll 4
    for (int i = 0; i < fill.ITEMS; i++)
      *(uint4*)(shared + fill.target(i)) = __ldg((const uint4*)(gradient + ((size_t)k * batch + b) * IMAGE) + fill.source(i));
    __syncthreads();
#pragma unroll 2
    for (int strip = warp; strip < PIXELS / 16; strip += EDGE_THREADS / 32) {
      unsigned a[4];
      ldmatrix_transposed(a, tile + strip_offset(strip));
      const bf16* at = image + (strip / 2) * IMAGE_PITCH + (strip % 2) * 16;
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const bf16* q = at + patch[j];
        mma(acc[j], a, q[0] | (unsigned)q[1] << 16, q[8] | (unsigned)q[9] << 16);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) warps[warp][g + 8 * (i / 2)][j * 8 + 2 * t + i % 2] = acc[j][i];
  __syncthreads();
  for (int i = thread; i < 16 * 32; i += EDGE_THREADS) {
    float sum = 0.f;
    for (int n = 0; n < EDGE_THREADS / 32; n++) sum += warps[n][i / 32][i % 32];
    parts[((size_t)k * gridDim.x + blockIdx.x) * 16 * 32 + i] = sum;
  }
}
#endif

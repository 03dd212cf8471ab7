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
  wait_for_kernel_ahead();
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
  if (thread < 128 && is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation({gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, sums, k, gridDim.x,
                         (float)batch * PIXELS, thread);
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
  wait_for_kernel_ahead();
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

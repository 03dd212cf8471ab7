#if CHANNELS == 16
// The stem, a 3x3 convolution of images with up to 3 channels, by `mma`. Images are float (B, K in, W, W) with any strides,
// in bf16 like every operand of a convolution here. A replica stride of 0: all replicas read the same images.
constexpr int MAX_IN = 3, IMAGE_PITCH = W + 4;

struct Images {
  const float* pixels;
  int channels, batch_stride, replica_stride, channel_stride, row_stride, column_stride;
};

// Pixels of one image on their way to a thread: one column, every ROWS-th row, all channels.
struct Pixels {
  static constexpr int MINE = PIXELS / EDGE_THREADS, ROWS = EDGE_THREADS / W;
  float values[MINE][MAX_IN];

  __device__ __forceinline__ void ask(const Images& images, int k, int b) {
    const float* from = images.pixels + (size_t)b * images.batch_stride + (size_t)k * images.replica_stride +
                        (threadIdx.x / W) * images.row_stride + (threadIdx.x % W) * images.column_stride;
#pragma unroll
    for (int n = 0; n < MINE; n++)
#pragma unroll
      for (int c = 0; c < MAX_IN; c++) {
        values[n][c] = 0.f;
        if (c < images.channels) values[n][c] = __ldg(from + n * ROWS * images.row_stride + c * images.channel_stride);
      }
  }
  // Row and column of the n-th, with a halo of zeros around the image.
  __device__ __forceinline__ int row(int n) const { return threadIdx.x / W + n * ROWS + 1; }
  __device__ __forceinline__ int column() const { return threadIdx.x % W + 1; }
};

// y_0 = conv(images), with the statistics for the first batch norm. The images in, 1 U out.
//
// A pixel in shared memory has four channels, the last one 0: a word is two entries of a patch, which are ordered (tap,
// channel). 16 of them are four taps; the last three of twelve taps have no weight, and are the ninth once more.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS, 4)
stem_forward(const float* pixels, const float* weights, bf16* out, float* sums, int* counters, const float* gamma,
             const float* beta, float* running_mean, float* running_var, float* table, double momentum, double eps,
             int batch, int channels, int batch_stride, int replica_stride, int channel_stride, int row_stride, int column_stride,
             int in_stride, int tap_stride, int training) {
  constexpr int SIXTEENS = 3, PIXEL_WORDS = 2;
  __shared__ __align__(8) unsigned image[(W + 2) * IMAGE_PITCH * PIXEL_WORDS];
  __shared__ float scratch[EDGE_THREADS / 32][2 * C];
  const Images images = {pixels, channels, batch_stride, replica_stride, channel_stride, row_stride, column_stride};
  const int k = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  wait_for_kernel_ahead();
  Pixels next;
  next.ask(images, k, blockIdx.x);
  for (int i = thread; i < (W + 2) * IMAGE_PITCH * PIXEL_WORDS; i += EDGE_THREADS) image[i] = 0;

  unsigned b[SIXTEENS][2][2];  // the weights: entries 2 t, + 1 and 2 t + 8, + 9 of column g
  int place[SIXTEENS][2];      // where these entries of a patch lie, in words from its first pixel
#pragma unroll
  for (int s = 0; s < SIXTEENS; s++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int tap = 4 * s + 2 * half + t / 2, channel = t % 2 * 2;
      place[s][half] = (min(tap, 8) / 3 * IMAGE_PITCH + min(tap, 8) % 3) * PIXEL_WORDS + t % 2;
#pragma unroll
      for (int n = 0; n < 2; n++) {
        const float* w = weights + (size_t)(k * C + channel_of_row(n * 8 + g)) * channels * 9 + tap * tap_stride;
        float pair[2];
#pragma unroll
        for (int j = 0; j < 2; j++) {
          pair[j] = 0.f;
          if (tap < 9 && channel + j < channels) pair[j] = w[(channel + j) * in_stride];
        }
        b[s][n][half] = pack(pair[0], pair[1]);
      }
    }

  float sum[SIDES][SPAN] = {}, square[SIDES][SPAN] = {};
  for (int picture = blockIdx.x; picture < batch; picture += gridDim.x) {
    __syncthreads();
#pragma unroll
    for (int n = 0; n < Pixels::MINE; n++)
      *(uint2*)(image + (next.row(n) * IMAGE_PITCH + next.column()) * PIXEL_WORDS) =
          make_uint2(pack(next.values[n][0], next.values[n][1]), pack(next.values[n][2], 0.f));
    __syncthreads();
    if (picture + gridDim.x < batch) next.ask(images, k, picture + gridDim.x);
#pragma unroll 1
    for (int strip = warp; strip < PIXELS / 16; strip += EDGE_THREADS / 32) {
      const unsigned* at = image + (strip / ACROSS * IMAGE_PITCH + strip % ACROSS * 16 + g) * PIXEL_WORDS;
      float acc[2][4] = {};
#pragma unroll
      for (int s = 0; s < SIXTEENS; s++) {
        const unsigned a[4] = {at[place[s][0]], at[place[s][0] + 8 * PIXEL_WORDS], at[place[s][1]], at[place[s][1] + 8 * PIXEL_WORDS]};
        mma(acc[0], a, b[s][0][0], b[s][0][1]);
        mma(acc[1], a, b[s][1][0], b[s][1][1]);
      }
#pragma unroll
      for (int half = 0; half < 2; half++) {
        unsigned words[SPAN / 2];
#pragma unroll
        for (int n = 0; n < 2; n++) {
          words[n] = pack(acc[n][2 * half], acc[n][2 * half + 1]);
          const float2 r = unpack(words[n]);
          sum[0][2 * n] += r.x; square[0][2 * n] = fmaf(r.x, r.x, square[0][2 * n]);
          sum[0][2 * n + 1] += r.y; square[0][2 * n + 1] = fmaf(r.y, r.y, square[0][2 * n + 1]);
        }
        store_span(out + (((size_t)k * batch + picture) * PIXELS + strip * 16 + g + 8 * half) * C + SPAN * t, words);
      }
    }
  }
  if (!training) return;
  store_sums(sum, square, scratch, sums + ((size_t)k * gridDim.x + blockIdx.x) * 2 * C, warp, lane);
  if (thread < 128 && is_last_block(counters + k, gridDim.x, thread))
    finish_normalisation({gamma, beta, running_mean, running_var, table, (float)momentum, (float)eps}, sums, k, gridDim.x,
                         (float)batch * PIXELS, thread);
}

// Gradient of the stem's weight, parts [K][blocks][16][32]: sum over pixels of g(pixel) patch(pixel)^T. The images, 1 U in.
//
// Patch entries are ordered (channel, tap). Two neighbouring pixels of one are a word: of the two copies of the image in
// shared memory the second begins a pixel later, and serves the taps in the middle of a row.
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
stem_weight_gradient(const float* pixels, const bf16* gradient, float* parts, int batch, int channels, int batch_stride,
                     int replica_stride, int channel_stride, int row_stride, int column_stride) {
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int COPY = MAX_IN * (W + 2) * IMAGE_PITCH;
  __shared__ __align__(4) bf16 image[2 * COPY];
  const Images images = {pixels, channels, batch_stride, replica_stride, channel_stride, row_stride, column_stride};
  const int k = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, g = lane >> 2, t = lane & 3;
  wait_for_kernel_ahead();
  Pixels next;
  next.ask(images, k, blockIdx.x);
  for (int i = thread; i < 2 * COPY; i += EDGE_THREADS) image[i] = 0;
  const Filler<EDGE_THREADS> fill(thread);
  const int p = (lane & 7) + ((lane >> 4) << 3);
  const unsigned tile = shared_address(shared) + ROW_BYTES + swizzled(p + 1, (lane >> 3) & 1);
  int patch[4];  // where the patch entries of this lane's four columns begin; the last ones of fewer than 32 are never used
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int n = min(j * 8 + g, channels * 9 - 1), dx = n % 3;
    patch[j] = dx % 2 * (COPY - 1) + ((n / 9) * (W + 2) + (n % 9) / 3) * IMAGE_PITCH + dx + 2 * t;
  }
  float acc[4][4] = {};
  for (int b = blockIdx.x; b < batch; b += gridDim.x) {
    uint4 words[Filler<EDGE_THREADS>::ITEMS];
#pragma unroll
    for (int i = 0; i < fill.ITEMS; i++)
      words[i] = __ldg((const uint4*)(gradient + ((size_t)k * batch + b) * IMAGE) + fill.source(i));
    __syncthreads();
#pragma unroll
    for (int n = 0; n < Pixels::MINE; n++)
#pragma unroll
      for (int c = 0; c < MAX_IN; c++) {
        const int at = (c * (W + 2) + next.row(n)) * IMAGE_PITCH + next.column();
        image[at] = image[COPY + at - 1] = (bf16)pack(next.values[n][c], 0.f);
      }
#pragma unroll
    for (int i = 0; i < fill.ITEMS; i++) *(uint4*)(shared + fill.target(i)) = words[i];
    __syncthreads();
    if (b + gridDim.x < batch) next.ask(images, k, b + gridDim.x);
#pragma unroll 2
    for (int strip = warp; strip < PIXELS / 16; strip += EDGE_THREADS / 32) {
      unsigned a[4];
      ldmatrix_transposed(a, tile + strip_offset(strip));
      const bf16* at = image + (strip / ACROSS) * IMAGE_PITCH + (strip % ACROSS) * 16;
#pragma unroll
      for (int j = 0; j < 4; j++) mma(acc[j], a, *(const unsigned*)(at + patch[j]), *(const unsigned*)(at + patch[j] + 8));
    }
  }
  __syncthreads();
  float(*warps)[16][32] = (float(*)[16][32])shared;  // the images are done with
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

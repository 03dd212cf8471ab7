// What the engine does around the network's step: batches out of uint8 images, and the optimiser's update. Every product,
// sum and quotient is rounded by itself, as in plain torch, so that a replica gets the same bits alone and among others.
// A program of its own: nothing here depends on a width.

// A thread has all channels of one pixel of one replica: 1 byte in and 4 out for each.
// images uint8 [N][C][H][W]; index, dy, dx, flip [K][B] -> out float [B][H][W][K][C]
extern "C" __global__ void gather_images(const unsigned char* images, const long long* index, const signed char* dy,
                                         const signed char* dx, const unsigned char* flip, const float* mean,
                                         const float* std, float* out, int batch, int replicas, int channels, int height,
                                         int width, int shifted, int flipped) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= batch * height * width * replicas) return;
  const int k = i % replicas, column = i / replicas % width, row = i / replicas / width % height;
  const int b = i / replicas / width / height, picture = k * batch + b;
  int y = row, x = flipped && flip[picture] ? width - 1 - column : column;
  if (shifted) {
    y += dy[picture];
    x += dx[picture];
  }
  const bool inside = y >= 0 && y < height && x >= 0 && x < width;
  const size_t plane = (size_t)height * width;
  const unsigned char* from = images + (size_t)index[picture] * channels * plane + (size_t)(inside ? y * width + x : 0);
  float* to = out + (size_t)i * channels;
  for (int c = 0; c < channels; c++) {
    const float pixel = inside ? (float)from[c * plane] : 0.f;
    to[c] = __fdiv_rn(__fsub_rn(__fdiv_rn(pixel, 255.f), mean[c]), std[c]);
  }
}

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return __fadd_rn(__fmul_rn(a, b), c); }

// slots[i] is group * replicas + replica of element i; a replica that is not alive stays as it is.
// 24 bytes for each element: value and velocity in and out, gradient and slot in.
extern "C" __global__ void update_sgd(float* values, const float* gradients, float* velocities, const float* rates,
                                      const float* decays, const unsigned char* alive, const int* slots, int size,
                                      int replicas, double momentum, int nesterov) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= size) return;
  const int slot = slots[i], k = slot % replicas;
  if (!alive[k]) return;
  const float p = values[i], mu = (float)momentum;
  const float g = multiply_add(decays[slot], p, gradients[i]);
  const float v = multiply_add(velocities[i], mu, g);
  velocities[i] = v;
  values[i] = __fsub_rn(p, __fmul_rn(rates[k], nesterov ? multiply_add(v, mu, g) : v));
}

// rates[k] = lr / (1 - beta1^t), roots[k] = sqrt(1 - beta2^t); rest1 = 1 - beta1, rest2 = 1 - beta2. 32 bytes for each.
extern "C" __global__ void update_adam(float* values, const float* gradients, float* means, float* squares,
                                       const float* rates, const float* roots, const float* decays,
                                       const unsigned char* alive, const int* slots, int size, int replicas, double beta1,
                                       double rest1, double beta2, double rest2, double eps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= size) return;
  const int slot = slots[i], k = slot % replicas;
  if (!alive[k]) return;
  const float p = values[i];
  const float g = multiply_add(decays[slot], p, gradients[i]);
  const float m = __fadd_rn(__fmul_rn(means[i], (float)beta1), __fmul_rn(g, (float)rest1));
  const float s = __fadd_rn(__fmul_rn(squares[i], (float)beta2), __fmul_rn(__fmul_rn(g, g), (float)rest2));
  means[i] = m;
  squares[i] = s;
  const float size_of_step = __fadd_rn(__fdiv_rn(__fsqrt_rn(s), roots[k]), (float)eps);
  values[i] = __fsub_rn(p, __fdiv_rn(__fmul_rn(rates[k], m), size_of_step));
}

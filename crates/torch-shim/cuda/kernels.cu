// Kernels of our own, compiled where they run by NVRTC, which comes with libtorch. They do in one pass over memory what
// libtorch does in several: on small images a training step is mostly such passes.
//
// Maps are bf16, channels last: rows (one for each pixel of each image) of `vectors` × 8 channels. A block has 256
// threads, `vectors` of them side by side on a row; so `vectors` divides 256, and a thread always meets the same eight
// channels.

// `x`, and at least `least`. A NaN stays one, where fmaxf would hide it: a network that has diverged is to be told.
__device__ __forceinline__ float at_least(float x, float least) { return x < least ? least : x; }

struct alignas(16) Eight {
  unsigned int pair[4];
};

__device__ __forceinline__ void unpack(const Eight &packed, float (&values)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[2 * i] = __uint_as_float(packed.pair[i] << 16);
    values[2 * i + 1] = __uint_as_float(packed.pair[i] & 0xffff0000u);
  }
}

__device__ __forceinline__ Eight pack(const float (&values)[8]) {
  Eight packed;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    packed.pair[i] = rounded(values[2 * i]) | (rounded(values[2 * i + 1]) << 16);
  }
  return packed;
}

// γ·(x − μ)/√(σ² + ε) + β as scale·x + shift, for the eight channels of one column. Without statistics the scale is 1 and
// β is all there is to add.
struct Affine {
  float scale[8], shift[8];

  __device__ Affine(const float *mean, const float *rstd, const float *gamma, const float *beta, int column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int channel = column * 8 + i;
      scale[i] = mean != nullptr ? gamma[channel] * rstd[channel] : 1.0f;
      shift[i] = mean != nullptr ? beta[channel] - mean[channel] * scale[i] : beta[channel];
    }
  }

  __device__ __forceinline__ float operator()(float x, int i) const { return fmaf(x, scale[i], shift[i]); }
};

// Adds the two sums of each thread over the lanes of its block; lane 0 writes `partial[block][2][channels]`.
__device__ void add_lanes(float (&first)[8], float (&second)[8], float *partial, int vectors) {
  __shared__ float shared[16][THREADS];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    shared[i][threadIdx.x] = first[i];
    shared[8 + i][threadIdx.x] = second[i];
  }
  __syncthreads();
  for (int step = THREADS / 2; step >= vectors; step /= 2) {
    if (threadIdx.x < step) {
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        shared[i][threadIdx.x] += shared[i][threadIdx.x + step];
      }
    }
    __syncthreads();
  }
  if (threadIdx.x < vectors) {
    float *here = partial + static_cast<long long>(blockIdx.x) * 16 * vectors + threadIdx.x * 8;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      here[i] = shared[i][threadIdx.x];
      here[8 * vectors + i] = shared[8 + i][threadIdx.x];
    }
  }
}

// The total over blocks of one channel's two sums, in all threads with this threadIdx.x; blocks are 32 × 32 threads.
__device__ void add_blocks(const float *partial, int blocks, int channels, int channel, float &first, float &second) {
  __shared__ float shared[2][32][32];
  first = second = 0.0f;
  if (channel < channels) {
    for (int block = threadIdx.y; block < blocks; block += 32) {
      first += partial[(2 * block) * channels + channel];
      second += partial[(2 * block + 1) * channels + channel];
    }
  }
  shared[0][threadIdx.y][threadIdx.x] = first;
  shared[1][threadIdx.y][threadIdx.x] = second;
  __syncthreads();
  first = second = 0.0f;
  for (int part = 0; part < 32; ++part) {
    first += shared[0][part][threadIdx.x];
    second += shared[1][part][threadIdx.x];
  }
}

// Σ (x − k) and Σ (x − k)² of each channel, with k the channel's first value: x² alone would cancel where the mean is
// large.
extern "C" __global__ void norm_statistics(const Eight *__restrict__ x, float *partial, long long rows, int vectors) {
  const int column = threadIdx.x % vectors, lanes = THREADS / vectors;
  float first[8], sum[8] = {}, square[8] = {};
  unpack(x[column], first);
  const long long stride = static_cast<long long>(gridDim.x) * lanes;
#pragma unroll 4
  for (long long row = blockIdx.x * lanes + threadIdx.x / vectors; row < rows; row += stride) {
    float values[8];
    unpack(x[row * vectors + column], values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float moved = values[i] - first[i];
      sum[i] += moved;
      square[i] = fmaf(moved, moved, square[i]);
    }
  }
  add_lanes(sum, square, partial, vectors);
}

// Mean and 1/√(σ² + ε), and the running statistics moved towards them.
extern "C" __global__ void norm_settle(const unsigned short *x, const float *partial, int blocks, long long rows,
                                       int channels, float epsilon, float momentum, float *mean, float *rstd,
                                       float *running_mean, float *running_var) {
  const int channel = blockIdx.x * 32 + threadIdx.x;
  float sum, square;
  add_blocks(partial, blocks, channels, channel, sum, square);
  if (threadIdx.y != 0 || channel >= channels) {
    return;
  }
  const float first = __uint_as_float(static_cast<unsigned int>(x[channel]) << 16);
  const float moved = sum / rows;
  const float variance = at_least(square / rows - moved * moved, 0.0f);
  mean[channel] = first + moved;
  rstd[channel] = rsqrtf(variance + epsilon);
  const float unbiased = variance * (static_cast<float>(rows) / static_cast<float>(rows > 1 ? rows - 1 : 1));
  running_mean[channel] += momentum * (first + moved - running_mean[channel]);
  running_var[channel] += momentum * (unbiased - running_var[channel]);
}

// y = scale·x + shift, plus the way around where there is one; then ReLU where asked for.
extern "C" __global__ void norm_apply(const Eight *__restrict__ x, const Eight *__restrict__ around,
                                      const float *mean, const float *rstd, const float *gamma, const float *beta,
                                      Eight *__restrict__ y, long long count, int vectors, int relu) {
  const Affine affine(mean, rstd, gamma, beta, threadIdx.x % vectors);
  const long long stride = static_cast<long long>(gridDim.x) * THREADS;
#pragma unroll 2
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < count; at += stride) {
    float values[8];
    unpack(x[at], values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] = affine(values[i], i);
    }
    if (around != nullptr) {
      float others[8];
      unpack(around[at], others);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        values[i] += others[i];
      }
    }
    if (relu) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        values[i] = values[i] < 0.0f ? 0.0f : values[i];
      }
    }
    y[at] = pack(values);
  }
}

// y = x + bias, plus the way around where there is one; then ReLU, up to `most`, where asked for. Unlike the others it takes any
// number of vectors, for it keeps nothing of a channel from row to row.
extern "C" __global__ void bias_apply(const Eight *__restrict__ x, const Eight *__restrict__ around,
                                      const float4 *__restrict__ bias, Eight *__restrict__ y, long long count,
                                      int vectors, int relu, float most) {
  const long long stride = static_cast<long long>(gridDim.x) * THREADS, start = blockIdx.x * THREADS + threadIdx.x;
  const int step = stride % vectors;
  int column = start % vectors;
#pragma unroll 2
  for (long long at = start; at < count; at += stride) {
    float values[8], others[8] = {};
    unpack(x[at], values);
    if (around != nullptr) {
      unpack(around[at], others);
    }
    const float4 low = bias[2 * column], high = bias[2 * column + 1];
    const float added[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] += added[i] + others[i];
      if (relu) {
        values[i] = values[i] < 0.0f ? 0.0f : values[i] > most ? most : values[i];
      }
    }
    y[at] = pack(values);
    column += step;
    column -= column >= vectors ? vectors : 0;
  }
}

// What of the slope in y reaches the sum before ReLU: all of it, or that where y is positive. `y` is given where the way
// around took part; otherwise x tells.
__device__ __forceinline__ void through_relu(float (&slope)[8], const float (&x)[8], const Eight *y, long long at,
                                             const Affine &affine, int relu) {
  if (!relu) {
    return;
  }
  if (y != nullptr) {
    float values[8];
    unpack(y[at], values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      slope[i] = values[i] > 0.0f ? slope[i] : 0.0f;
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      slope[i] = affine(x[i], i) > 0.0f ? slope[i] : 0.0f;
    }
  }
}

// x̂ of eight channels.
struct Standard {
  float center[8], factor[8];

  __device__ __forceinline__ Standard(const float *mean, const float *rstd, int column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      center[i] = mean[column * 8 + i];
      factor[i] = rstd[column * 8 + i];
    }
  }

  __device__ __forceinline__ float operator()(float value, int i) const { return (value - center[i]) * factor[i]; }
};

// Σ g and Σ g·x̂ of each channel.
extern "C" __global__ void norm_slope_sums(const Eight *__restrict__ dy, const Eight *__restrict__ x,
                                           const Eight *__restrict__ y, const float *mean, const float *rstd,
                                           const float *gamma, const float *beta, float *partial, long long rows,
                                           int vectors, int relu) {
  const int column = threadIdx.x % vectors, lanes = THREADS / vectors;
  const Affine affine(mean, rstd, gamma, beta, column);
  const Standard standard(mean, rstd, column);
  float sum[8] = {}, along[8] = {};
  const long long stride = static_cast<long long>(gridDim.x) * lanes;
#pragma unroll 2
  for (long long row = blockIdx.x * lanes + threadIdx.x / vectors; row < rows; row += stride) {
    const long long at = row * vectors + column;
    float slope[8], values[8];
    unpack(dy[at], slope);
    unpack(x[at], values);
    through_relu(slope, values, y, at, affine, relu);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum[i] += slope[i];
      along[i] = fmaf(slope[i], standard(values[i], i), along[i]);
    }
  }
  add_lanes(sum, along, partial, vectors);
}

// The slopes in β (Σ g) and γ (Σ g·x̂).
extern "C" __global__ void norm_slope_settle(const float *partial, int blocks, int channels, float *dgamma,
                                             float *dbeta) {
  const int channel = blockIdx.x * 32 + threadIdx.x;
  float sum, along;
  add_blocks(partial, blocks, channels, channel, sum, along);
  if (threadIdx.y == 0 && channel < channels) {
    dbeta[channel] = sum;
    dgamma[channel] = along;
  }
}

// The slope in x:  scale · (g − mean g − x̂ · mean g·x̂)  =  scale·g − along·x − rest.
struct Slope {
  float scale[8], along[8], rest[8];

  __device__ Slope(const float *mean, const float *rstd, const float *gamma, const float *dgamma, const float *dbeta,
                   long long rows, int column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int channel = column * 8 + i;
      scale[i] = gamma[channel] * rstd[channel];
      along[i] = scale[i] * rstd[channel] * dgamma[channel] / rows;
      rest[i] = scale[i] * dbeta[channel] / rows - along[i] * mean[channel];
    }
  }

  __device__ __forceinline__ float operator()(float g, float x, int i) const {
    return fmaf(scale[i], g, -fmaf(along[i], x, rest[i]));
  }
};

// `daround`, the slope in the way around, is written where it is asked for.
extern "C" __global__ void norm_slope_apply(const Eight *__restrict__ dy, const Eight *__restrict__ x,
                                            const Eight *__restrict__ y, const float *mean, const float *rstd,
                                            const float *gamma, const float *beta, const float *dgamma,
                                            const float *dbeta, Eight *__restrict__ dx, Eight *__restrict__ daround,
                                            long long rows, int vectors, int relu) {
  const int column = threadIdx.x % vectors;
  const Affine affine(mean, rstd, gamma, beta, column);
  const Slope back(mean, rstd, gamma, dgamma, dbeta, rows, column);
  const long long count = rows * vectors, stride = static_cast<long long>(gridDim.x) * THREADS;
#pragma unroll 2
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < count; at += stride) {
    float slope[8], values[8];
    unpack(dy[at], slope);
    unpack(x[at], values);
    through_relu(slope, values, y, at, affine, relu);
    if (daround != nullptr) {
      daround[at] = pack(slope);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] = back(slope[i], values[i], i);
    }
    dx[at] = pack(values);
  }
}

// Maps of `height` × `width` pixels, pooled 3×3 with stride 2 and a border of 1.
struct Shape {
  int height, width, out_height, out_width, vectors;
};

struct alignas(8) Places {
  unsigned char of[8];
};

constexpr unsigned char NOWHERE = 255;

// scale·x + shift, ReLU, and the largest of each window; `places` says which of the nine it was, NOWHERE where ReLU let
// nothing through. Of equal ones the first, as libtorch has it.
extern "C" __global__ void pool_apply(const Eight *__restrict__ x, const float *mean, const float *rstd,
                                      const float *gamma, const float *beta, Eight *__restrict__ y, Places *places,
                                      long long count, Shape shape) {
  const int column = threadIdx.x % shape.vectors;
  const Affine affine(mean, rstd, gamma, beta, column);
  const long long stride = static_cast<long long>(gridDim.x) * THREADS;
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < count; at += stride) {
    const long long pixel = at / shape.vectors;
    const int ow = pixel % shape.out_width, oh = (pixel / shape.out_width) % shape.out_height;
    const long long image = pixel / (static_cast<long long>(shape.out_width) * shape.out_height);
    float best[8] = {};
    Places place;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      place.of[i] = NOWHERE;
    }
#pragma unroll
    for (int window = 0; window < 9; ++window) {
      const int h = oh * 2 - 1 + window / 3, w = ow * 2 - 1 + window % 3;
      if (h < 0 || w < 0 || h >= shape.height || w >= shape.width) {
        continue;
      }
      float values[8];
      unpack(x[((image * shape.height + h) * shape.width + w) * shape.vectors + column], values);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float value = __uint_as_float(rounded(affine(values[i], i)) << 16);
        // A NaN is taken on, so that it is seen further on.
        if (value > best[i] || value != value) {
          best[i] = value;
          place.of[i] = window;
        }
      }
    }
    y[at] = pack(best);
    if (places != nullptr) {
      places[at] = place;
    }
  }
}

// Σ g and Σ g·x̂, window by window.
extern "C" __global__ void pool_slope_sums(const Eight *__restrict__ dy, const unsigned short *__restrict__ x,
                                           const Places *__restrict__ places, const float *mean, const float *rstd,
                                           float *partial, long long pixels, Shape shape) {
  const int vectors = shape.vectors, column = threadIdx.x % vectors, lanes = THREADS / vectors;
  const Standard standard(mean, rstd, column);
  float sum[8] = {}, along[8] = {};
  const long long stride = static_cast<long long>(gridDim.x) * lanes;
  for (long long pixel = blockIdx.x * lanes + threadIdx.x / vectors; pixel < pixels; pixel += stride) {
    const int ow = pixel % shape.out_width, oh = (pixel / shape.out_width) % shape.out_height;
    const long long image = pixel / (static_cast<long long>(shape.out_width) * shape.out_height);
    float slope[8];
    unpack(dy[pixel * vectors + column], slope);
    const Places place = places[pixel * vectors + column];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (place.of[i] == NOWHERE) {
        continue;
      }
      const int h = oh * 2 - 1 + place.of[i] / 3, w = ow * 2 - 1 + place.of[i] % 3;
      const long long at = ((image * shape.height + h) * shape.width + w) * (vectors * 8) + column * 8 + i;
      const float value = __uint_as_float(static_cast<unsigned int>(x[at]) << 16);
      sum[i] += slope[i];
      along[i] = fmaf(slope[i], standard(value, i), along[i]);
    }
  }
  add_lanes(sum, along, partial, vectors);
}

// The slope in x: each pixel collects from the windows, at most four, that it was the largest of.
extern "C" __global__ void pool_slope_apply(const Eight *__restrict__ dy, const Eight *__restrict__ x,
                                            const Places *__restrict__ places, const float *mean, const float *rstd,
                                            const float *gamma, const float *dgamma, const float *dbeta,
                                            Eight *__restrict__ dx, long long rows, Shape shape) {
  const int vectors = shape.vectors, column = threadIdx.x % vectors;
  const Slope back(mean, rstd, gamma, dgamma, dbeta, rows, column);
  const long long count = rows * vectors, stride = static_cast<long long>(gridDim.x) * THREADS;
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < count; at += stride) {
    const long long pixel = at / vectors;
    const int w = pixel % shape.width, h = (pixel / shape.width) % shape.height;
    const long long image = pixel / (static_cast<long long>(shape.width) * shape.height);
    float slope[8] = {}, values[8];
    unpack(x[at], values);
#pragma unroll
    for (int dh = 0; dh < 3; ++dh) {
#pragma unroll
      for (int dw = 0; dw < 3; ++dw) {
        const int oh = (h + 1 - dh) / 2, ow = (w + 1 - dw) / 2;
        const bool even = ((h + 1 - dh) & 1) == 0 && ((w + 1 - dw) & 1) == 0;
        if (!even || h + 1 < dh || w + 1 < dw || oh >= shape.out_height || ow >= shape.out_width) {
          continue;
        }
        const long long from = ((image * shape.out_height + oh) * shape.out_width + ow) * vectors + column;
        const Places place = places[from];
        float arrived[8];
        unpack(dy[from], arrived);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          slope[i] += place.of[i] == dh * 3 + dw ? arrived[i] : 0.0f;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] = back(slope[i], values[i], i);
    }
    dx[at] = pack(values);
  }
}

// The profile of a map: squares summed along rows and along columns. `over_width` is [images, height, channels],
// `over_height` [images, width, channels]. A block takes one image and one column of eight channels times as many as fit.
extern "C" __global__ void profile(const Eight *__restrict__ x, float *__restrict__ out, int height, int width,
                                   int vectors) {
  // One thread for each (row or column, vector) of this image.
  const int lines = height + width;
  const Eight *image = x + static_cast<long long>(blockIdx.y) * height * width * vectors;
  float *here = out + static_cast<long long>(blockIdx.y) * lines * vectors * 8;
  for (int item = blockIdx.x * THREADS + threadIdx.x; item < lines * vectors; item += gridDim.x * THREADS) {
    const int column = item % vectors, line = item / vectors;
    const bool row = line < height;
    const int start = row ? line * width : line - height, step = row ? 1 : width, count = row ? width : height;
    float sum[8] = {};
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
      float values[8];
      unpack(image[static_cast<long long>(start + k * step) * vectors + column], values);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum[i] = fmaf(values[i], values[i], sum[i]);
      }
    }
    float4 *place = reinterpret_cast<float4 *>(here + static_cast<long long>(item) * 8);
    place[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    place[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
  }
}

// The sum of `value` over the block, in every thread.
__device__ float over_block(float value) {
  __shared__ float shared[THREADS / 32];
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, step);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < THREADS / 32; ++warp) {
    total += shared[warp];
  }
  return total;
}

// How far two profiles a and t point apart: d = ‖a/‖a‖ − t/‖t‖‖. A block takes one image. For the way back it leaves the
// factors with which a and t make the slope: ∂d/∂a = (c·a/‖a‖ − t/‖t‖) / (d·‖a‖), where c is the cosine. Lengths are
// clamped under the root; a distance that was has no slope, and of a map so faint that its length was, the slope down to
// the map is nothing either way.
extern "C" __global__ void profile_distance(const float4 *__restrict__ a, const float4 *__restrict__ t,
                                            float *__restrict__ distance, float2 *__restrict__ factors, int quarters) {
  const long long from = static_cast<long long>(blockIdx.x) * quarters;
  const float4 *mine = a + from, *yours = t + from;
  float aa = 0.0f, tt = 0.0f, at = 0.0f;
  for (int i = threadIdx.x; i < quarters; i += THREADS) {
    const float4 x = mine[i], y = yours[i];
    aa += x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
    tt += y.x * y.x + y.y * y.y + y.z * y.z + y.w * y.w;
    at += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
  }
  const float long_a = sqrtf(at_least(over_block(aa), 1e-12f));
  const float long_t = sqrtf(at_least(over_block(tt), 1e-12f));
  const float cosine = over_block(at) / (long_a * long_t), of_a = 1.0f / long_a, of_t = 1.0f / long_t;
  // From the differences, for 2 − 2c would cancel where little has moved.
  float squares = 0.0f;
  for (int i = threadIdx.x; i < quarters; i += THREADS) {
    const float4 x = mine[i], y = yours[i];
    const float u = x.x * of_a - y.x * of_t, v = x.y * of_a - y.y * of_t;
    const float w = x.z * of_a - y.z * of_t, z = x.w * of_a - y.w * of_t;
    squares += u * u + v * v + w * w + z * z;
  }
  squares = over_block(squares);
  if (threadIdx.x == 0) {
    const float apart = sqrtf(at_least(squares, 1e-12f)), moved = squares > 1e-12f ? of_a / apart : 0.0f;
    distance[blockIdx.x] = apart;
    factors[blockIdx.x] = make_float2(moved * cosine * of_a, -moved * of_t);
  }
}

// The slope of a distance down to the maps: 2·x·(slope of its row + slope of its column).
extern "C" __global__ void profile_slope(const Eight *__restrict__ x, const float *__restrict__ a,
                                         const float *__restrict__ t, const float2 *__restrict__ factors,
                                         const float *__restrict__ slope, Eight *__restrict__ dx, int height, int width,
                                         int vectors) {
  const long long from = static_cast<long long>(blockIdx.y) * height * width * vectors;
  const long long profile = static_cast<long long>(blockIdx.y) * (height + width) * vectors * 8;
  const float twice = 2.0f * slope[blockIdx.y];
  const float of_a = twice * factors[blockIdx.y].x, of_t = twice * factors[blockIdx.y].y;
  for (int item = blockIdx.x * THREADS + threadIdx.x; item < height * width * vectors; item += gridDim.x * THREADS) {
    const int column = item % vectors, pixel = item / vectors, h = pixel / width, w = pixel % width;
    const long long row = profile + (h * vectors + column) * 8, line = profile + ((height + w) * vectors + column) * 8;
    float values[8];
    unpack(x[from + item], values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] *= of_a * (a[row + i] + a[line + i]) + of_t * (t[row + i] + t[line + i]);
    }
    dx[from + item] = pack(values);
  }
}

// The kernels of MMD: a block takes one row of `products` (fake against real and fake), turns each product into its
// weight w in place, and answers with the row's sum of weights and its sums of k over both sides.
extern "C" __global__ void mmd_weigh(float *__restrict__ products, const float *__restrict__ of_rows,
                                     const float *__restrict__ of_columns, const float *rates, int bandwidths,
                                     float *sums, int rows, int columns, int split, float across, float within) {
  __shared__ float shared[3][THREADS];
  float *row = products + static_cast<long long>(blockIdx.x) * columns;
  const float own = of_rows[blockIdx.x];
  float total = 0.0f, left = 0.0f, right = 0.0f;
  for (int column = threadIdx.x; column < columns; column += THREADS) {
    // Rounding can leave a distance to oneself just below 0.
    const float distance = at_least(own + of_columns[column] - 2.0f * row[column], 0.0f);
    float kernel = 0.0f, weight = 0.0f;
    for (int b = 0; b < bandwidths; ++b) {
      const float value = expf(-distance * rates[b]);
      kernel += value;
      weight = fmaf(value, rates[b], weight);
    }
    weight *= column < split ? across : within;
    (column < split ? left : right) += kernel;
    total += weight;
    row[column] = weight;
  }
  shared[0][threadIdx.x] = total;
  shared[1][threadIdx.x] = left;
  shared[2][threadIdx.x] = right;
  __syncthreads();
  for (int step = THREADS / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      for (int i = 0; i < 3; ++i) {
        shared[i][threadIdx.x] += shared[i][threadIdx.x + step];
      }
    }
    __syncthreads();
  }
  if (threadIdx.x < 3) {
    sums[threadIdx.x * rows + blockIdx.x] = shared[threadIdx.x][0];
  }
}

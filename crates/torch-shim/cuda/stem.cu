// The first convolution of a network for small images, with all that follows it down to the pooled map.
//
//   y = pool(ReLU(γ · (w ∗ x − μ) / √(σ² + ε) + β)),      w ∗ x: 3×3, from 3 channels to 64, a border of 1
//
// The map w ∗ x is the largest of the whole network: 64 channels at full size, from an image of three. It is never
// written. A pixel of it is w·p, where p is the patch of 27 numbers around the pixel, so what BatchNorm asks of the map
// follows from two sums over patches, P = Σ p and G = Σ p·pᵀ:
//
//   n·μ = w·P,      n·σ² = wᵀGw − n·μ²
//
// and what the way back asks of it follows from D = Σ g·pᵀ, where g is the slope that arrives at a pixel through pooling
// and ReLU (mostly 0, for a window hands its slope to one pixel):
//
//   ∂β = Σ g,      ∂γ = (w·D − μ·Σ g) / √(σ² + ε),      ∂w = γ / √(σ² + ε) · (D − ∂β/n · P − ∂γ/n · (Gw − μP) / √(σ² + ε))
//
// A patch has a 28th number, which is 1: so P is a row of G, and Σ g a row of D. G, D and w ∗ x are products of tensor
// cores, of bf16 numbers and with sums in f32, which blocks add up in f64 in a fixed order.

// Rows of the image that POOLED_ROWS of pooled pixels reach.
constexpr int TILE_ROWS = 2 * POOLED_ROWS + 3;
// Widest image, and room around a tile, for patches of pixels that do not count may lie outside.
constexpr int STEM_WIDTH = 256, ROOM = 16;
constexpr int TILE = TILE_ROWS * (STEM_WIDTH + 2) * 3 + 2 * ROOM;
constexpr unsigned int ONE = 0x3f80u;

// `sums` += a·b, 16×16 by 16×8.
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  // The host does not ask older GPUs.
  __trap();
#endif
}

__device__ __forceinline__ unsigned int both(unsigned int low, unsigned int high) { return low | (high << 16); }

// Rows `from` and following of an image, with a border of zeros left and right; rows outside of the image are zeros.
__device__ void load_tile(unsigned short *tile, const unsigned short *__restrict__ x, int image, int from, int rows,
                          const StemShape &shape) {
  const int line = (shape.width + 2) * 3, own = shape.width * 3;
  for (int at = threadIdx.x; at < rows * line; at += THREADS) {
    const int row = at / line, place = at - row * line - 3, y = from + row;
    const bool inside = y >= 0 && y < shape.height && place >= 0 && place < own;
    tile[at] = inside ? x[(static_cast<long long>(image) * shape.height + y) * own + place] : 0;
  }
}

__device__ void clear_tile(unsigned short *tile) {
  for (int at = threadIdx.x; at < TILE; at += THREADS) {
    tile[at] = 0;
  }
}

// Where number `k` of a patch lies, from the patch's first; 27 is the one that is always 1, and those after it are 0.
__device__ __forceinline__ int place_of(int k, int line) { return k < PATCH ? k / 9 * line + k % 9 : 0; }

// Adds up the sums of a block's warps, tile by tile of 16 × 8, into `shared`, which has `count` numbers.
template <int M, int N, typename Where>
__device__ void add_warps(const float (&sums)[M][N][4], float *shared, int count, Where where) {
  __syncthreads();
  for (int at = threadIdx.x; at < count; at += THREADS) {
    shared[at] = 0.0f;
  }
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int warp = 0; warp < THREADS / 32; ++warp) {
    __syncthreads();
    if (threadIdx.x / 32 == warp) {
#pragma unroll
      for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            shared[where(m * 16 + g + (i / 2) * 8, n, 2 * t + i % 2)] += sums[m][n][i];
          }
        }
      }
    }
  }
  __syncthreads();
}

// G of each block, [block][32][32].
extern "C" __global__ void __launch_bounds__(THREADS) stem_products(const unsigned short *__restrict__ x, float *partial,
                                                                    StemShape shape) {
  __shared__ unsigned short whole[TILE];
  __shared__ float shared[SLOTS * SLOTS];
  unsigned short *tile = whole + ROOM;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int line = (shape.width + 2) * 3, groups = (shape.width + 15) / 16;
  const int strips = (shape.height + PLAIN_ROWS - 1) / PLAIN_ROWS;
  int places[4];
#pragma unroll
  for (int f = 0; f < 4; ++f) {
    places[f] = place_of(g + 8 * f, line);
  }
  float sums[2][4][4] = {};
  for (long long strip = blockIdx.x; strip < static_cast<long long>(shape.images) * strips; strip += gridDim.x) {
    const int image = strip / strips, first = (strip % strips) * PLAIN_ROWS;
    const int rows = min(PLAIN_ROWS, shape.height - first);
    __syncthreads();
    load_tile(tile, x, image, first - 1, rows + 2, shape);
    __syncthreads();
    for (int item = warp; item < rows * groups; item += THREADS / 32) {
      const int row = item / groups, from = item % groups * 16;
      unsigned int a[2][4];
#pragma unroll
      for (int f = 0; f < 4; ++f) {
        const int k = g + 8 * f;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          unsigned int values[2];
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int pixel = from + 2 * t + 8 * half + i;
            const bool counts = pixel < shape.width && k <= PATCH;
            values[i] = !counts ? 0u : k == PATCH ? ONE : tile[row * line + pixel * 3 + places[f]];
          }
          a[f / 2][f % 2 + 2 * half] = both(values[0], values[1]);
        }
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          // The numbers of eight slots, as rows of one factor and as columns of the other.
          multiply(sums[m][n], a[m], a[n / 2][n % 2], a[n / 2][n % 2 + 2]);
        }
      }
    }
  }
  add_warps(sums, shared, SLOTS * SLOTS, [](int row, int n, int column) { return row * SLOTS + n * 8 + column; });
  for (int at = threadIdx.x; at < SLOTS * SLOTS; at += THREADS) {
    partial[static_cast<long long>(blockIdx.x) * SLOTS * SLOTS + at] = shared[at];
  }
}

// The total over blocks of `numbers` sums, which are a multiple of 32; a block of 32 × 8 threads takes 32 of them.
extern "C" __global__ void add_up(const float *__restrict__ partial, int blocks, int numbers, double *total) {
  __shared__ double shared[8][32];
  const int number = blockIdx.x * 32 + threadIdx.x;
  double sum = 0.0;
#pragma unroll 4
  for (int block = threadIdx.y; block < blocks; block += 8) {
    sum += partial[static_cast<long long>(block) * numbers + number];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0) {
    sum = 0.0;
    for (int part = 0; part < 8; ++part) {
      sum += shared[part][threadIdx.x];
    }
    total[number] = sum;
  }
}

// The sum of `value` over the 32 threads of a block, in every thread.
__device__ __forceinline__ double over_warp(double value) {
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, step);
  }
  return value;
}

__device__ __forceinline__ double weight_of(const unsigned short *w, int channel, int k) {
  return k < PATCH ? __uint_as_float(static_cast<unsigned int>(w[channel * PATCH + k]) << 16) : 0.0f;
}

// Number k of Gw, for the thread with threadIdx.x = k.
__device__ __forceinline__ double times_products(const unsigned short *w, const double *products, int channel) {
  double sum = 0.0;
  for (int j = 0; j < PATCH; ++j) {
    sum += weight_of(w, channel, j) * products[j * SLOTS + threadIdx.x];
  }
  return sum;
}

// Mean and 1/√(σ² + ε), and the running statistics moved towards them; a block of 32 threads for each channel.
extern "C" __global__ void stem_settle(const unsigned short *w, const double *products, long long rows, float epsilon,
                                       float momentum, float *mean, float *rstd, float *running_mean,
                                       float *running_var) {
  const int channel = blockIdx.x, k = threadIdx.x;
  const double own = weight_of(w, channel, k);
  const double average = over_warp(own * products[PATCH * SLOTS + k]) / rows;
  const double square = over_warp(own * times_products(w, products, channel)) / rows;
  if (k == 0) {
    const double spread = square - average * average;
    // Rounding can leave it just below 0; a NaN stays one.
    const float center = average, variance = spread < 0.0 ? 0.0 : spread;
    mean[channel] = center;
    rstd[channel] = rsqrtf(variance + epsilon);
    const float unbiased = variance * (static_cast<float>(rows) / static_cast<float>(rows > 1 ? rows - 1 : 1));
    running_mean[channel] += momentum * (center - running_mean[channel]);
    running_var[channel] += momentum * (unbiased - running_var[channel]);
  }
}

// y, and where asked for `places`: which of a window's nine pixels was the largest, NOWHERE where ReLU let nothing through.
//
// A warp takes one row of pooled pixels and half of the channels, eight pixels at a time from left to right. Rows of the
// product are even columns of the map, then odd ones, so that a thread gets both that begin below its pooled pixel; the odd
// one to the left comes from its neighbour. Columns of the product are put so that a thread has eight channels in a row.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    stem_pool(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, const float *mean, const float *rstd,
              const float *gamma, const float *beta, Eight *__restrict__ y, Places *places, StemShape shape) {
  __shared__ unsigned short whole[TILE];
  unsigned short *tile = whole + ROOM;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int half = warp % 2, pooled_row = warp / 2, column = half * 4 + t;
  const int line = (shape.width + 2) * 3;
  const int strips = (shape.out_height + POOLED_ROWS - 1) / POOLED_ROWS;
  const Affine affine(mean, rstd, gamma, beta, column);
  unsigned int weights[4][2][2];
  int offsets[2][4];
#pragma unroll
  for (int step = 0; step < 2; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int k = step * 16 + (i / 2) * 8 + 2 * t + i % 2;
      offsets[step][i] = place_of(k, line);
      const int first = step * 16 + (i % 2) * 8 + 2 * t;
      const int channel = half * 32 + (g / 2) * 8 + g % 2;
      if (i < 2) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const unsigned short *own = w + (channel + 2 * n) * PATCH;
          weights[n][step][i] = both(first < PATCH ? own[first] : 0u, first + 1 < PATCH ? own[first + 1] : 0u);
        }
      }
    }
  }
  for (long long strip = blockIdx.x; strip < static_cast<long long>(shape.images) * strips; strip += gridDim.x) {
    const int image = strip / strips, first = (strip % strips) * POOLED_ROWS, oh = first + pooled_row;
    __syncthreads();
    load_tile(tile, x, image, 2 * first - 2, TILE_ROWS, shape);
    __syncthreads();
    if (oh >= shape.out_height) {
      continue;
    }
    // The odd columns of the eight pixels before.
    float before[3][8] = {};
    for (int from = 0; from < shape.out_width; from += 8) {
      const int ow = from + g, even = 2 * ow, odd = even + 1;
      const int here = min(even, shape.width - 1) * 3, beside = min(odd, shape.width - 1) * 3;
      float best[8] = {};
      Places place;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        place.of[i] = NOWHERE;
      }
#pragma unroll
      for (int dh = 0; dh < 3; ++dh) {
        const int h = 2 * oh - 1 + dh;
        const unsigned short *row = tile + (2 * pooled_row + dh) * line;
        float sums[4][4] = {};
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          const int(&at)[4] = offsets[step];
          const unsigned int a[4] = {
              both(row[here + at[0]], row[here + at[1]]), both(row[beside + at[0]], row[beside + at[1]]),
              both(row[here + at[2]], row[here + at[3]]), both(row[beside + at[2]], row[beside + at[3]])};
#pragma unroll
          for (int n = 0; n < 4; ++n) {
            multiply(sums[n], a, weights[n][step][0], weights[n][step][1]);
          }
        }
        const bool inside = h >= 0 && h < shape.height;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float values[3] = {0.0f, affine(sums[i / 2][i % 2], i), affine(sums[i / 2][2 + i % 2], i)};
          // The last lanes hand the first ones what they had before; all others hand on what they have now.
          const float handed = __shfl_sync(0xffffffffu, g == 7 ? before[dh][i] : values[2], (lane + 28) % 32);
          before[dh][i] = values[2];
#pragma unroll
          for (int dw = 0; dw < 3; ++dw) {
            const float value = dw == 0 ? handed : values[dw];
            const bool counts = inside && even - 1 + dw >= 0 && even - 1 + dw < shape.width;
            // A NaN is taken on, so that it is seen further on.
            if (counts && (value > best[i] || value != value)) {
              best[i] = value;
              place.of[i] = dh * 3 + dw;
            }
          }
        }
      }
      if (ow < shape.out_width) {
        const long long pixel = (static_cast<long long>(image) * shape.out_height + oh) * shape.out_width + ow;
        y[pixel * (STEM / 8) + column] = pack(best);
        if (places != nullptr) {
          places[pixel * (STEM / 8) + column] = place;
        }
      }
    }
  }
}

// Four bytes of the eight of `low` and `high`. Unlike with __byte_perm, one whose number has 8 added is its sign, spread.
__device__ __forceinline__ unsigned int bytes_of(unsigned int low, unsigned int high, unsigned int which) {
  unsigned int result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(which));
  return result;
}

// 0x80 in each byte of `bytes` that is `value`.
__device__ __forceinline__ unsigned int equal(unsigned int bytes, unsigned int value) {
  const unsigned int other = bytes ^ (value * 0x01010101u);
  return ~(((other & 0x7f7f7f7fu) + 0x7f7f7f7fu) | other) & 0x80808080u;
}

// D of each block, [block][32][64]: the slots of a patch by the channels.
//
// A warp takes 16 pooled pixels of a row. For each of the nine pixels of a window, the slopes of those channels whose
// largest it was are multiplied by the patches around it; the others count as 0.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    stem_slopes(const unsigned short *__restrict__ x, const Eight *__restrict__ dy, const Places *__restrict__ places,
                float *partial, StemShape shape) {
  __shared__ unsigned short whole[TILE];
  __shared__ float shared[SLOTS * STEM];
  unsigned short *tile = whole + ROOM;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int line = (shape.width + 2) * 3, groups = (shape.out_width + 15) / 16;
  const int strips = (shape.out_height + POOLED_ROWS - 1) / POOLED_ROWS;
  clear_tile(whole);
  int offsets[4];
#pragma unroll
  for (int f = 0; f < 4; ++f) {
    offsets[f] = place_of(g + 8 * f, line);
  }
  // Slots 24 and following: which are numbers of a patch, and what the others are.
  const bool last_counts = g + 24 < PATCH;
  const unsigned int last = g + 24 == PATCH ? both(ONE, ONE) : 0u;
  float sums[2][8][4] = {};
  for (long long strip = blockIdx.x; strip < static_cast<long long>(shape.images) * strips; strip += gridDim.x) {
    const int image = strip / strips, first = (strip % strips) * POOLED_ROWS;
    const int rows = min(POOLED_ROWS, shape.out_height - first);
    __syncthreads();
    load_tile(tile, x, image, 2 * first - 2, TILE_ROWS, shape);
    __syncthreads();
    for (int item = warp; item < rows * groups; item += THREADS / 32) {
      const int row = item / groups, from = item % groups * 16;
      const long long pixels = (static_cast<long long>(image) * shape.out_height + first + row) * shape.out_width;
      Eight slopes[4];
      uint2 chosen[4];
      int at[4];
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const int ow = from + 2 * t + (p / 2) * 8 + p % 2;
        const bool counts = ow < shape.out_width;
        at[p] = (2 * min(ow, shape.out_width - 1) - 1) * 3;
        const long long place = (pixels + (counts ? ow : 0)) * (STEM / 8) + g;
        slopes[p] = dy[place];
        chosen[p] = *reinterpret_cast<const uint2 *>(places + place);
        if (!counts) {
          chosen[p] = make_uint2(0xffffffffu, 0xffffffffu);
        }
      }
      // Of two pixels beside each other, channel by channel.
      unsigned int pairs[8][2];
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          pairs[n][i] = bytes_of(slopes[2 * i].pair[n / 2], slopes[2 * i + 1].pair[n / 2], n % 2 == 0 ? 0x5410 : 0x7632);
        }
      }
      // One after the other, for all nine at once need more registers than there are.
#pragma unroll 1
      for (int window = 0; window < 9; ++window) {
        const unsigned short *around = tile + (2 * row + window / 3) * line + window % 3 * 3;
        unsigned int a[2][4];
#pragma unroll
        for (int f = 0; f < 4; ++f) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const unsigned int values = both(around[at[2 * i] + offsets[f]], around[at[2 * i + 1] + offsets[f]]);
            a[f / 2][f % 2 + 2 * i] = f < 3 || last_counts ? values : last;
          }
        }
        unsigned int masks[4][2];
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          masks[p][0] = equal(chosen[p].x, window);
          masks[p][1] = equal(chosen[p].y, window);
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          unsigned int b[2];
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            // The high bit of a byte of either, spread over two bytes each.
            const unsigned int spread = (0x8u | n % 4) * 0x11u | (0xcu | n % 4) * 0x1100u;
            b[i] = pairs[n][i] & bytes_of(masks[2 * i][n / 4], masks[2 * i + 1][n / 4], spread);
          }
          multiply(sums[0][n], a[0], b[0], b[1]);
          multiply(sums[1][n], a[1], b[0], b[1]);
        }
      }
    }
  }
  // Column c of tile n was channel 8·c + n.
  add_warps(sums, shared, SLOTS * STEM, [](int row, int n, int column) { return row * STEM + column * 8 + n; });
  for (int at = threadIdx.x; at < SLOTS * STEM; at += THREADS) {
    partial[static_cast<long long>(blockIdx.x) * SLOTS * STEM + at] = shared[at];
  }
}

// The slopes in β, γ and w; a block of 32 threads for each channel.
extern "C" __global__ void stem_slope_settle(const unsigned short *w, const double *products, const double *slopes,
                                             const float *mean, const float *rstd, const float *gamma, long long rows,
                                             float *dgamma, float *dbeta, unsigned short *dw) {
  const int channel = blockIdx.x, k = threadIdx.x;
  const double center = mean[channel], factor = rstd[channel];
  const double own = weight_of(w, channel, k), slope = slopes[k * STEM + channel];
  const double sum = slopes[PATCH * STEM + channel], patches = products[PATCH * SLOTS + k];
  const double along = factor * (over_warp(own * slope) - center * sum);
  const double standard = factor * (times_products(w, products, channel) - center * patches);
  if (k == 0) {
    dbeta[channel] = sum;
    dgamma[channel] = along;
  }
  if (k < PATCH) {
    dw[channel * PATCH + k] = rounded(gamma[channel] * factor * (slope - sum / rows * patches - along / rows * standard));
  }
}

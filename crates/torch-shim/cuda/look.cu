// Images from a stock on the GPU, as a network looks at them. `cpp/look_on_cpu.cpp` compiles this file for a CPU too.

// One side of a view: which pixels a pixel of the view is made of. A triangle around its place in the window, as wide as the
// reduction asks.
struct Side {
  int first, last;
  float center, reach, sum;

  // `from`: the pixel of the still view; `pixels`: those of the image along this side.
  __device__ Side(float start, float extent, float from, int size, int pixels) {
    const float scale = extent / size;
    center = start + (from + 0.5f) * scale;
    reach = fmaxf(scale, 1.0f);
    first = max(0, static_cast<int>(ceilf(center - reach - 0.5f)));
    last = min(pixels - 1, static_cast<int>(floorf(center + reach - 0.5f)));
    sum = 0.0f;
    for (int at = first; at <= last; ++at) {
      sum += weight(at);
    }
    sum = fmaxf(sum, 1e-6f);
  }

  __device__ __forceinline__ float weight(int at) const {
    return fmaxf(1.0f - fabsf(at + 0.5f - center) / reach, 0.0f);
  }
};

// One pixel of a view, from the pixels of an image that lie row by row, the channels of a pixel side by side.
template <int CHANNELS>
__device__ __forceinline__ void see(const unsigned char *image, int width, const Side &across, const Side &down,
                                    float (&seen)[CHANNELS]) {
  for (int i = down.first; i <= down.last; ++i) {
    const unsigned char *line = image + static_cast<long long>(i) * width * CHANNELS;
    float sum[CHANNELS] = {};
    for (int j = across.first; j <= across.last; ++j) {
      const float weight = across.weight(j);
#pragma unroll
      for (int channel = 0; channel < CHANNELS; ++channel) {
        sum[channel] = fmaf(weight, static_cast<float>(line[j * CHANNELS + channel]), sum[channel]);
      }
    }
    const float weight = down.weight(i);
#pragma unroll
    for (int channel = 0; channel < CHANNELS; ++channel) {
      seen[channel] = fmaf(weight, sum[channel], seen[channel]);
    }
  }
#pragma unroll
  for (int channel = 0; channel < CHANNELS; ++channel) {
    seen[channel] /= across.sum * down.sum;
  }
}

struct Look {
  const unsigned char *pixels;
  const long long *places;
  const float *how, *slope, *shift;
  void *out;
  int in_bf16, size;

  template <int CHANNELS>
  __device__ __forceinline__ void at(long long at) const {
    const int x = at % size, y = (at / size) % size;
    const int image = at / (static_cast<long long>(size) * size);
    const long long *place = places + image * 3;
    const int width = place[1], height = place[2];
    const float *glance = how + image * 7;
    const float from_x = (glance[6] != 0.0f ? size - 1 - x : x) - glance[4], from_y = y - glance[5];
    float seen[CHANNELS] = {};
    if (from_x >= 0.0f && from_x < size && from_y >= 0.0f && from_y < size) {
      const Side across(glance[0], glance[2], from_x, size, width), down(glance[1], glance[3], from_y, size, height);
      see<CHANNELS>(pixels + place[0] * CHANNELS, width, across, down, seen);
    }
#pragma unroll
    for (int channel = 0; channel < CHANNELS; ++channel) {
      const float value = fmaf(seen[channel], slope[channel], shift[channel]);
      if (in_bf16) {
        static_cast<unsigned short *>(out)[at * CHANNELS + channel] = rounded(value);
      } else {
        static_cast<float *>(out)[at * CHANNELS + channel] = value;
      }
    }
  }
};

// Images of any size as they are looked at: cropped, resized, moved, mirrored and normalized, channels last. All lie one after
// the other in `pixels`; `places` is the first pixel of each, its width and its height. `how` is left, top, width, height, shift
// right, shift down, mirrored; outside the image there is black. A thread makes one pixel.
extern "C" __global__ void look(const unsigned char *__restrict__ pixels, const long long *__restrict__ places,
                                const float *__restrict__ how, const float *slope, const float *shift, void *out, int in_bf16,
                                int batch, int channels, int size) {
  const Look look{pixels, places, how, slope, shift, out, in_bf16, size};
  const long long count = static_cast<long long>(batch) * size * size;
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < count;
       at += static_cast<long long>(gridDim.x) * THREADS) {
    if (channels == 3) {
      look.at<3>(at);
    } else {
      look.at<1>(at);
    }
  }
}

// The kernel `look` as C++: the same source, behind the words that only CUDA's compiler knows. A thread of it needs nothing of
// the others, so a loop over the threads is the kernel.

#include "look_on_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cuda {

using std::max;
using std::min;

struct Place {
  unsigned x = 0;
};

static thread_local Place threadIdx, blockIdx, gridDim;

inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

#define __device__
#define __forceinline__ inline
#define __global__ __attribute__((visibility("hidden")))

#include "../cuda/numbers.cu"

#include "../cuda/look.cu"

} // namespace cuda

void look_on_cpu(void *pixels, void *places, void *how, void *slope, void *shift, void *out, int in_bf16, int batch,
                 int channels, int size) {
  cuda::gridDim.x = 1;
  for (cuda::threadIdx.x = 0; cuda::threadIdx.x < cuda::THREADS; ++cuda::threadIdx.x) {
    cuda::look(static_cast<const unsigned char *>(pixels), static_cast<const long long *>(places),
               static_cast<const float *>(how), static_cast<const float *>(slope), static_cast<const float *>(shift), out,
               in_bf16, batch, channels, size);
  }
}

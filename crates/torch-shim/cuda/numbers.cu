// What kernels have in common. It stands before all others.

// Threads of a block.
constexpr int THREADS = 256;

// To bf16: the nearest, and of two equally near the even one. A NaN stays one.
__device__ __forceinline__ unsigned int rounded(float value) {
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fc0u;
  }
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// Kernels for small networks of plain numbers, the generator and the classifiers: what libtorch does for large ones leaves most
// of a GPU idle here. Its Adam takes 65,536 numbers a block, and its sum over a batch of 500 has 4 blocks.

// As many parameters as a launch takes.
constexpr int MOST_PARAMETERS = 8;

// Parameters one after the other; `end` is where the next one begins.
struct Parameters {
  float *value[MOST_PARAMETERS];
  const float *slope[MOST_PARAMETERS];
  float *mean[MOST_PARAMETERS];
  float *square[MOST_PARAMETERS];
  const float *count[MOST_PARAMETERS];
  long long end[MOST_PARAMETERS];
  int parameters;
};

// A step of Adam, the number of which is in `count`.
extern "C" __global__ void adam(Parameters all, const float *rate, double beta1, double beta2, float epsilon) {
  const float keep1 = beta1, take1 = 1.0 - beta1, keep2 = beta2, take2 = 1.0 - beta2;
  __shared__ float reach[MOST_PARAMETERS], root[MOST_PARAMETERS];
  if (threadIdx.x < all.parameters) {
    const double count = *all.count[threadIdx.x];
    reach[threadIdx.x] = static_cast<float>(*rate / (1.0 - pow(beta1, count)));
    root[threadIdx.x] = static_cast<float>(sqrt(1.0 - pow(beta2, count)));
  }
  __syncthreads();
  const long long numbers = all.end[all.parameters - 1];
  int parameter = 0;
  for (long long at = blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x; at < numbers;
       at += static_cast<long long>(gridDim.x) * THREADS) {
    while (at >= all.end[parameter]) {
      ++parameter;
    }
    const long long place = parameter == 0 ? at : at - all.end[parameter - 1];
    const float slope = all.slope[parameter][place];
    float &mean = all.mean[parameter][place], &square = all.square[parameter][place];
    mean = keep1 * mean + take1 * slope;
    square = keep2 * square + take2 * slope * slope;
    all.value[parameter][place] -= reach[parameter] * mean / (sqrtf(square) / root[parameter] + epsilon);
  }
}

constexpr int SIDE_BY_SIDE = 8, BELOW = 128;

// The sum of each column of `x`, `[rows, columns]`. A block takes eight columns, and adds up in the same order each time.
extern "C" __global__ void column_sums(const float *__restrict__ x, float *__restrict__ sums, int rows, int columns) {
  __shared__ float shared[BELOW][SIDE_BY_SIDE];
  const int column = blockIdx.x * SIDE_BY_SIDE + threadIdx.x;
  float sum = 0.0f;
  if (column < columns) {
    for (long long row = threadIdx.y; row < rows; row += BELOW) {
      sum += x[row * columns + column];
    }
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  for (int step = BELOW / 2; step > 0; step /= 2) {
    if (threadIdx.y < step) {
      shared[threadIdx.y][threadIdx.x] += shared[threadIdx.y + step][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && column < columns) {
    sums[column] = shared[0][threadIdx.x];
  }
}

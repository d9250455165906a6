// A CUDA that does nothing but write down which GPU was the current one when it was asked: built three times, under the names
// by which the shim opens CUDA's driver, NVRTC and libtorch's CUDA half.

#include <cstddef>
#include <cstdint>
#include <cstdio>

// Those of the program.
extern "C" int current_gpu();
extern "C" int gpu_of_stream(const void *stream);

namespace {

// What belongs to a GPU is known by its number.
void *mark(int gpu) { return reinterpret_cast<void *>(static_cast<intptr_t>(gpu + 1)); }
int gpu_of(const void *mark) { return static_cast<int>(reinterpret_cast<intptr_t>(mark)) - 1; }

int is_on(const char *what) {
  std::printf("%s on %d\n", what, current_gpu());
  return 0;
}

} // namespace

extern "C" {

int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *) { return 0; }
int nvrtcCompileProgram(void *, int, const char *const *) { return 0; }
int nvrtcGetProgramLogSize(void *, size_t *size) { return *size = 0, 0; }
int nvrtcGetProgramLog(void *, char *) { return 0; }
int nvrtcGetCUBINSize(void *, size_t *size) { return *size = 1, 0; }
int nvrtcGetCUBIN(void *, char *) { return 0; }
int nvrtcDestroyProgram(void **) { return 0; }

int cuCtxGetDevice(int *device) { return *device = current_gpu(), 0; }
int cuDeviceGetAttribute(int *value, int, int) { return *value = 9, 0; }
int cuMemGetInfo_v2(size_t *free, size_t *all) { return *free = *all = 1, 0; }
int cuModuleLoadData(void **module, const void *) { return *module = mark(current_gpu()), is_on("a module is loaded"); }

// As the driver does, it refuses a module of another GPU.
int cuModuleGetFunction(void **function, void *module, const char *) {
  *function = module;
  return gpu_of(module) == current_gpu() ? 0 : 400;
}

int cuLaunchKernel(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **,
                   void **) {
  std::printf("a kernel of %d in a stream of %d ", gpu_of(function), gpu_of(stream));
  return is_on("is launched");
}

void *stream_handle(const void *stream) __asm__("_ZNK3c104cuda10CUDAStream6streamEv");
void *stream_handle(const void *stream) { return mark(gpu_of_stream(stream)); }

void graph_made(void *, bool) __asm__("_ZN2at4cuda9CUDAGraphC1Eb");
void graph_made(void *, bool) {}
void graph_gone(void *) __asm__("_ZN2at4cuda9CUDAGraphD1Ev");
void graph_gone(void *) {}
void begins(void *) __asm__("_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
void begins(void *) { is_on("a recording begins"); }
void ends(void *) __asm__("_ZN2at4cuda9CUDAGraph11capture_endEv");
void ends(void *) { is_on("a recording ends"); }
void replays(void *) __asm__("_ZN2at4cuda9CUDAGraph6replayEv");
void replays(void *) {}

} // extern "C"

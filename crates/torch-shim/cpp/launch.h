// How our own kernels (those of `cuda`) are found, compiled where they run, and launched on libtorch's stream.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace own {

// NVRTC and CUDA's driver, found by name in the library through which libtorch itself uses them, so that neither their
// headers nor a fixed version is needed here. Both have plain C interfaces that are stable over versions.
struct Driver {
  int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
  int (*compile)(void *, int, const char *const *);
  int (*log_size)(void *, size_t *);
  int (*log)(void *, char *);
  int (*cubin_size)(void *, size_t *);
  int (*cubin)(void *, char *);
  int (*destroy)(void **);
  int (*current_device)(int *);
  int (*device_attribute)(int *, int, int);
  int (*memory)(size_t *, size_t *);
  int (*load)(void **, const void *);
  int (*function)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  void *(*stream)(const void *);

  Driver() {
    void *nvrtc = library("libcaffe2_nvrtc.so"), *torch = library("libtorch_cuda.so"), *cuda = library("libcuda.so.1");
    find(nvrtc, create, "nvrtcCreateProgram");
    find(nvrtc, compile, "nvrtcCompileProgram");
    find(nvrtc, log_size, "nvrtcGetProgramLogSize");
    find(nvrtc, log, "nvrtcGetProgramLog");
    find(nvrtc, cubin_size, "nvrtcGetCUBINSize");
    find(nvrtc, cubin, "nvrtcGetCUBIN");
    find(nvrtc, destroy, "nvrtcDestroyProgram");
    find(nvrtc, current_device, "cuCtxGetDevice");
    find(nvrtc, device_attribute, "cuDeviceGetAttribute");
    find(cuda, memory, "cuMemGetInfo_v2");
    find(nvrtc, load, "cuModuleLoadData");
    find(nvrtc, function, "cuModuleGetFunction");
    find(nvrtc, launch, "cuLaunchKernel");
    // c10::cuda::CUDAStream::stream() const: the class is a c10::Stream and nothing else.
    find(torch, stream, "_ZNK3c104cuda10CUDAStream6streamEv");
  }

  static void *library(const char *name) {
    void *found = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (found == nullptr) {
      const char *why = dlerror();
      throw std::runtime_error(why != nullptr ? why : std::string(name) + " cannot be opened");
    }
    return found;
  }

  template <typename Function>
  static void find(void *library, Function &function, const char *name) {
    void *symbol = dlsym(library, name);
    if (symbol == nullptr) {
      throw std::runtime_error(std::string("there is no ") + name);
    }
    function = reinterpret_cast<Function>(symbol);
  }
};

inline const Driver &driver() {
  static const Driver found;
  return found;
}

inline void expect(int code, const char *what) {
  if (code != 0) {
    throw std::runtime_error(std::string(what) + " failed with code " + std::to_string(code));
  }
}

// The device of this thread's context. A thread that has asked CUDA for nothing yet has none, and memory that the allocator
// has at hand asks for nothing; waiting for the device makes one. Threads that learn have one long before they record.
inline int context_device() {
  int device = 0;
  if (driver().current_device(&device) != 0) {
    const auto &guard = *c10::impl::getDeviceGuardImpl(at::kCUDA);
    guard.synchronizeDevice(guard.getDevice().index());
    expect(driver().current_device(&device), "cuCtxGetDevice");
  }
  return device;
}

// The compiled kernels, one module for each device that asked.
class Kernels {
public:
  void compile(const char *source) {
    const auto &cuda = driver();
    const int device = context_device();
    int major = 0, minor = 0;
    const std::lock_guard<std::mutex> lock(mutex);
    if (modules.count(device) != 0) {
      return;
    }
    expect(cuda.device_attribute(&major, /*compute capability, major*/ 75, device), "cuDeviceGetAttribute");
    expect(cuda.device_attribute(&minor, /*and minor*/ 76, device), "cuDeviceGetAttribute");
    const auto arch = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
    const std::array<const char *, 2> options{arch.c_str(), "--std=c++17"};
    void *program = nullptr;
    expect(cuda.create(&program, source, "kernels.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
    const int code = cuda.compile(program, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    if (code != 0) {
      cuda.log_size(program, &size);
      std::string log(size, '\0');
      cuda.log(program, log.data());
      cuda.destroy(&program);
      throw std::runtime_error("the kernels do not compile: " + log);
    }
    expect(cuda.cubin_size(program, &size), "nvrtcGetCUBINSize");
    std::vector<char> image(size);
    expect(cuda.cubin(program, image.data()), "nvrtcGetCUBIN");
    cuda.destroy(&program);
    void *module = nullptr;
    expect(cuda.load(&module, image.data()), "cuModuleLoadData");
    modules[device] = module;
  }

  void *find(const char *name) {
    const int device = context_device();
    const std::lock_guard<std::mutex> lock(mutex);
    auto &function = functions[{device, name}];
    if (function == nullptr) {
      const auto module = modules.find(device);
      if (module == modules.end()) {
        throw std::runtime_error("the kernels were not compiled for this device");
      }
      expect(driver().function(&function, module->second, name), "cuModuleGetFunction");
    }
    return function;
  }

private:
  std::mutex mutex;
  std::map<int, void *> modules;
  std::map<std::pair<int, std::string>, void *> functions;
};

inline Kernels &kernels() {
  static Kernels all;
  return all;
}

struct Grid {
  unsigned x, y = 1, threads_x = 256, threads_y = 1;
};

// Launches on the stream that is current for the device of `on`. The arguments must have the very types of the kernel's.
template <typename... Arguments>
void launch(const char *name, Grid grid, const at::Tensor &on, Arguments... arguments) {
  const c10::DeviceGuard guard(on.device());
  const auto stream = c10::impl::getDeviceGuardImpl(at::kCUDA)->getStream(on.device());
  void *places[] = {static_cast<void *>(&arguments)...};
  expect(driver().launch(kernels().find(name), grid.x, grid.y, 1, grid.threads_x, grid.threads_y, 1, 0,
                         driver().stream(&stream), places, nullptr),
         name);
}

inline void *data(const at::Tensor &tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

// So many blocks that each thread has about `each` of `items` to do, and the GPU is full.
inline unsigned blocks(int64_t items, int64_t each, int64_t most) {
  return static_cast<unsigned>(std::clamp<int64_t>(items / (256 * each), 1, most));
}

constexpr int64_t MOST_SUMS = 528, MOST_PASSES = 2112;

inline at::Tensor maps_like(const at::Tensor &x, int64_t height, int64_t width) {
  return at::empty({x.size(0), x.size(1), height, width}, x.options().memory_format(at::MemoryFormat::ChannelsLast));
}

inline at::Tensor channels_last(const at::Tensor &maps) { return maps.contiguous(at::MemoryFormat::ChannelsLast); }

} // namespace own

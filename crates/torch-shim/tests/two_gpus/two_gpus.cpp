// The shim on a machine with two GPUs that are not there: what it asks of the second one while the first is current.

#include <cstdio>
#include <cstdlib>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include "shim.h"

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

DeviceIndex current = 0;
c10::StreamId streams[2] = {0, 0};

struct TwoGpus : c10::impl::DeviceGuardImplInterface {
  at::DeviceType type() const override { return at::kCUDA; }
  Device getDevice() const override { return {at::kCUDA, current}; }
  void uncheckedSetDevice(Device device) const noexcept override { current = device.index(); }
  void setDevice(Device device) const override { uncheckedSetDevice(device); }
  Device exchangeDevice(Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }
  Stream getStream(Device device) const noexcept override {
    return Stream(Stream::UNSAFE, device, streams[device.index()]);
  }
  Stream getStreamFromGlobalPool(Device device, bool) const override { return Stream(Stream::UNSAFE, device, 1); }
  // As libtorch's own: the stream is the current one of its device, and that need not be the current device.
  Stream exchangeStream(Stream stream) const noexcept override {
    const auto before = getStream(stream.device());
    streams[stream.device_index()] = stream.id();
    return before;
  }
  DeviceIndex deviceCount() const noexcept override { return 2; }
  void synchronizeDevice(const DeviceIndex) const override {}
};

C10_REGISTER_GUARD_IMPL(CUDA, TwoGpus)

// Memory of the host that says it is the GPU's: nothing reads it.
struct Memory : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void *data = std::malloc(bytes + 1);
    return {data, data, &std::free, Device(at::kCUDA, current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void *, const void *, size_t) const override {}
};

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> kind, std::optional<at::Layout>,
                 std::optional<Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  static Memory memory;
  const c10::DeviceGuard guard(device.value_or(Device(at::kCUDA)));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory, c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   kind.value_or(at::kFloat), format);
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) { library.impl("empty.memory_format", empty); }

void done(int code) {
  if (code != 0) {
    std::printf("%s\n", shim_error());
  }
  std::printf("current: %d\n", current);
}

} // namespace

extern "C" int current_gpu() { return current; }
extern "C" int gpu_of_stream(const void *stream) { return static_cast<const Stream *>(stream)->device_index(); }

int main() {
  int devices = 0;
  shim_open_cuda(&devices);

  done(shim_kernels_compile(1, ""));

  const auto numbers = [](at::IntArrayRef size) { return at::empty(size, at::device(Device(at::kCUDA, 1))); };
  const auto products = numbers({2, 4}), rows = numbers({2}), columns = numbers({4}), rates = numbers({1});
  void *sums = nullptr;
  done(shim_mmd_weigh(&products, &rows, &columns, &rates, 2, 1.0, 1.0, &sums));

  void *graph = nullptr;
  done(shim_graph_begin(1, &graph));
  done(shim_graph_end(graph));
  return 0;
}

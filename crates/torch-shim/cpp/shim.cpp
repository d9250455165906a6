#include "shim.h"
#include "guarded.h"

#include <dlfcn.h>

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <sys/resource.h>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/GradMode.h>
#include <atomic>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/autograd/custom_function.h>

// As <ATen/autocast_mode.h> declares them; that header pulls in every operator and would triple the build.
namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API void set_autocast_dtype(at::DeviceType device_type, at::ScalarType dtype);
TORCH_API void clear_cache();
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
} // namespace at::autocast

namespace {

using torch::autograd::variable_list;

// The generator that all draw from on a device.
at::Generator generator_of(int index) {
  const auto device = index < 0 ? c10::Device(at::kCPU) : c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  return at::globalContext().defaultGenerator(device);
}

at::DeviceType kind(int cuda) { return cuda ? at::kCUDA : at::kCPU; }

// Null where CUDA was never loaded: the allocator registers itself when it is.
c10::DeviceAllocator *cuda_allocator() {
  return dynamic_cast<c10::DeviceAllocator *>(c10::GetAllocator(at::kCUDA));
}

// at::cuda::CUDAGraph, found by name once libtorch's CUDA half is open: this file is linked against the CPU half alone,
// and the class's header wants CUDA's. The signatures are those of torch 2.11's <ATen/cuda/CUDAGraph.h>.
struct GraphCalls {
  using Pool = std::pair<unsigned long long, unsigned long long>;
  void (*construct)(void *, bool);
  void (*destroy)(void *);
  void (*capture_begin)(void *, Pool, int);
  void (*capture_end)(void *);
  void (*replay)(void *);

  GraphCalls() {
    find(construct, "_ZN2at4cuda9CUDAGraphC1Eb");
    find(destroy, "_ZN2at4cuda9CUDAGraphD1Ev");
    find(capture_begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
    find(capture_end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
    find(replay, "_ZN2at4cuda9CUDAGraph6replayEv");
  }

  template <typename Function>
  static void find(Function &function, const char *name) {
    void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library != nullptr ? dlsym(library, name) : nullptr;
    if (symbol == nullptr) {
      throw std::runtime_error(std::string("libtorch_cuda.so has no ") + name);
    }
    function = reinterpret_cast<Function>(symbol);
  }
};

const GraphCalls &graph_calls() {
  static const GraphCalls calls;
  return calls;
}

const c10::impl::DeviceGuardImplInterface &cuda_guard() { return *c10::impl::getDeviceGuardImpl(at::kCUDA); }

// A stream for one purpose on each device, always the same: libraries keep workspaces for every stream that they ever met
// (cuBLAS 32 MB and more), and memory of one stream is not used for another. Each thread has its own, for what one
// thread records is none of another's business.
using OwnStreams = std::map<c10::DeviceIndex, c10::Stream>;

c10::Stream own_stream(OwnStreams &streams, c10::Device device) {
  const auto found = streams.find(device.index());
  if (found != streams.end()) {
    return found->second;
  }
  const auto fresh = cuda_guard().getStreamFromGlobalPool(device, /*isHighPriority=*/false);
  return streams.emplace(device.index(), fresh).first->second;
}

c10::Stream recording_stream(c10::Device device) {
  static thread_local OwnStreams streams;
  return own_stream(streams, device);
}

c10::Stream side_stream(c10::Device device) {
  static thread_local OwnStreams streams;
  return own_stream(streams, device);
}

// A graph in memory that is larger than the class (some 250 bytes), and what was current before its recording.
struct Graph {
  alignas(std::max_align_t) unsigned char object[1024];
  c10::Stream outside;
  c10::Device device = cuda_guard().getDevice();
  bool recording = false;

  explicit Graph(c10::Stream stream) : outside(stream) { graph_calls().construct(object, false); }
  ~Graph() { graph_calls().destroy(object); }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
};

Graph &graph_of(void *graph) { return *static_cast<Graph *>(graph); }

// Whether a recording could not be ended. libtorch's allocator then still asks that graph which memory is its own: it is never
// freed, and there is no further recording for the allocator to ask it about.
std::atomic<bool> recordings_ended{false};

void leave_behind(void *) { recordings_ended = true; }

// Thread-local: what other threads do meanwhile, such as reading images, is none of a recording's business.
constexpr int THREAD_LOCAL = 1;

// The stream and the device from before are the current ones again.
void step_outside(const Graph &graph) {
  cuda_guard().exchangeStream(graph.outside);
  cuda_guard().uncheckedSetDevice(graph.device);
}

// Begins a recording on a stream for that, for none can be made on the default stream. libtorch takes the current stream of the
// current device, which for one of several processes is another than its own.
void begin_recording(Graph &graph) {
  const auto &guard = cuda_guard();
  graph.device = guard.exchangeDevice(graph.outside.device());
  try {
    guard.exchangeStream(recording_stream(graph.outside.device()));
    graph_calls().capture_begin(graph.object, {0, 0}, THREAD_LOCAL);
  } catch (...) {
    step_outside(graph);
    throw;
  }
  graph.recording = true;
}

// Leaves the recording, whatever becomes of it.
void end_recording(Graph &graph) {
  graph.recording = false;
  try {
    graph_calls().capture_end(graph.object);
  } catch (...) {
    step_outside(graph);
    throw;
  }
  step_outside(graph);
}

// After a recording that failed libtorch's random numbers still count for it, and refuse to be drawn. One that succeeds,
// of nothing, sets them right.
void record_nothing(c10::Stream outside) {
  Graph nothing(outside);
  begin_recording(nothing);
  end_recording(nothing);
}

// bf16 copies of weights, all in one pass, and all slopes back in one.
struct AsBf16 : torch::autograd::Function<AsBf16> {
  static variable_list forward(torch::autograd::AutogradContext *, at::TensorList weights) {
    variable_list copies;
    for (const auto &weight : weights) {
      copies.push_back(at::empty_like(weight, weight.options().dtype(at::kBFloat16).requires_grad(false)));
    }
    at::_foreach_copy_(copies, weights);
    return copies;
  }

  static variable_list backward(torch::autograd::AutogradContext *, variable_list slopes) {
    variable_list results;
    for (const auto &slope : slopes) {
      results.push_back(at::empty_like(slope, slope.options().dtype(at::kFloat)));
    }
    at::_foreach_copy_(results, slopes);
    return results;
  }
};

struct Aside {
  c10::Stream outside, inside;
  c10::Event done{at::kCUDA};

  explicit Aside(c10::Device device) : outside(cuda_guard().getStream(device)), inside(side_stream(device)) {
    // What was asked for so far comes first; so memory that either side has given back is safe to use again.
    c10::Event so_far(at::kCUDA);
    so_far.record(outside);
    so_far.block(inside);
    cuda_guard().exchangeStream(inside);
  }
};

} // namespace

extern "C" {

const char *shim_error(void) { return last_error.c_str(); }

int shim_open_cuda(int *devices) {
  return guarded([&] {
    // Global, for its static initializers register kernels and hooks with the libtorch_cpu already loaded.
    if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      const char *why = dlerror();
      throw std::runtime_error(why != nullptr ? why : "the loader gave no reason");
    }
    *devices = at::globalContext().hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
  });
}

int shim_autocast_enter(int cuda, int enabled, int *enabled_before, int *dtype_before) {
  return guarded([&] {
    const auto device = kind(cuda);
    *enabled_before = at::autocast::is_autocast_enabled(device) ? 1 : 0;
    *dtype_before = static_cast<int>(at::autocast::get_autocast_dtype(device));
    at::autocast::set_autocast_dtype(device, at::kBFloat16);
    at::autocast::set_autocast_enabled(device, enabled != 0);
    at::autocast::increment_nesting();
  });
}

int shim_autocast_leave(int cuda, int enabled_before, int dtype_before) {
  return guarded([&] {
    const auto device = kind(cuda);
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(device, enabled_before != 0);
    at::autocast::set_autocast_dtype(device, static_cast<at::ScalarType>(dtype_before));
  });
}

int shim_channels_last(const void *tensor, void **result) {
  return guarded([&] { *result = new at::Tensor(borrowed(tensor).contiguous(at::MemoryFormat::ChannelsLast)); });
}

int shim_is_channels_last(const void *tensor, int *answer) {
  return guarded([&] { *answer = borrowed(tensor).is_contiguous(at::MemoryFormat::ChannelsLast) ? 1 : 0; });
}

int shim_clear_gradients(void *const *parameters, int count) {
  return guarded([&] {
    for (int i = 0; i < count; ++i) {
      borrowed(parameters[i]).mutable_grad().reset();
    }
  });
}

int shim_sgd_step(void *const *parameters, void *const *velocities, int count, const void *rate, double momentum,
                  double weight_decay, double max_norm) {
  return guarded([&] {
    const c10::AutoGradMode no_gradients(false);
    std::vector<at::Tensor> values, gradients, speeds;
    for (int i = 0; i < count; ++i) {
      const auto &parameter = borrowed(parameters[i]);
      if (parameter.grad().defined()) {
        values.push_back(parameter);
        gradients.push_back(parameter.grad());
        // Without momentum libtorch wants none.
        if (momentum != 0.0) {
          speeds.push_back(borrowed(velocities[i]));
        }
      }
    }
    if (!values.empty()) {
      // What gradients are divided by: 1, or by how much they are too long. It stays on the device.
      std::optional<at::Tensor> too_long;
      if (max_norm > 0.0) {
        const auto length = at::stack(at::_foreach_norm(gradients)).to(at::kFloat).norm();
        too_long = length.div(max_norm).clamp_min(1.0);
      }
      at::_fused_sgd_(values, gradients, speeds, weight_decay, momentum, borrowed(rate), /*dampening=*/0.0,
                      /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false, too_long);
    }
  });
}

int shim_adam_step(void *const *parameters, void *const *means, void *const *squares, void *const *counts, int count,
                   const void *rate) {
  return guarded([&] {
    const c10::AutoGradMode no_gradients(false);
    std::vector<at::Tensor> values, gradients, first, second, steps;
    for (int i = 0; i < count; ++i) {
      const auto &parameter = borrowed(parameters[i]);
      if (parameter.grad().defined()) {
        values.push_back(parameter);
        gradients.push_back(parameter.grad());
        first.push_back(borrowed(means[i]));
        second.push_back(borrowed(squares[i]));
        steps.push_back(borrowed(counts[i]));
      }
    }
    if (!values.empty()) {
      at::_foreach_add_(steps, 1.0);
      at::_fused_adam_(values, gradients, first, second, /*max_exp_avg_sqs=*/{}, steps, borrowed(rate),
                       /*beta1=*/0.9, /*beta2=*/0.999, /*weight_decay=*/0.0, /*eps=*/1e-8, /*amsgrad=*/false,
                       /*maximize=*/false);
    }
  });
}

int shim_as_bf16(void *const *weights, int count, void **results) {
  return guarded([&] {
    const auto originals = borrowed(weights, count);
    // As a list of tensors, for autograd looks into nothing else.
    const auto copies = AsBf16::apply(at::TensorList(originals));
    for (int i = 0; i < count; ++i) {
      results[i] = new at::Tensor(copies[static_cast<size_t>(i)]);
    }
  });
}

int shim_upload(const uint8_t *bytes, int64_t count, int index, void **result) {
  return guarded([&] {
    // Only read, for all that the copy below asks of it; and not pinned, so that the copy is over when it returns.
    const auto here = at::from_blob(const_cast<uint8_t *>(bytes), {count}, at::TensorOptions(at::kByte));
    const auto device = index < 0 ? c10::Device(at::kCPU) : c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
    *result = new at::Tensor(here.to(here.options().device(device), /*non_blocking=*/false, /*copy=*/true));
  });
}

int shim_aside_begin(int index, void **aside) {
  return guarded([&] { *aside = new Aside(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index))); });
}

int shim_aside_end(void *aside) {
  auto &work = *static_cast<Aside *>(aside);
  return guarded([&] {
    cuda_guard().exchangeStream(work.outside);
    work.done.record(work.inside);
  });
}

int shim_aside_join(void *aside) {
  const std::unique_ptr<Aside> work(static_cast<Aside *>(aside));
  return guarded([&] { work->done.block(work->outside); });
}

namespace {

// oneDNN's convolutions as PyTorch's compiler calls them; none where libtorch was built without oneDNN.
std::optional<c10::OperatorHandle> onednn(const char *name) {
  return c10::Dispatcher::singleton().findSchema({name, ""});
}

} // namespace

int shim_pack_convolution(const void *weight, const int64_t *size, int64_t stride, int64_t padding, int64_t groups,
                          void **result) {
  return guarded([&] {
    const auto pack = onednn("mkldnn::_reorder_convolution_weight");
    if (!pack || !onednn("mkldnn::_convolution_pointwise")) {
      *result = nullptr;
      return;
    }
    const std::vector<int64_t> twice_padding{padding, padding}, twice_stride{stride, stride}, ones{1, 1};
    torch::jit::Stack stack{borrowed(weight), twice_padding, twice_stride, ones, groups, std::vector<int64_t>(size, size + 4)};
    pack->callBoxed(stack);
    *result = new at::Tensor(stack.at(0).toTensor());
  });
}

int shim_packed_convolution(const void *x, const void *weight, const void *bias, int64_t stride, int64_t padding,
                            int64_t groups, int relu6, void **result) {
  return guarded([&] {
    static const auto convolve = c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_convolution_pointwise", "");
    const std::vector<int64_t> twice_padding{padding, padding}, twice_stride{stride, stride}, ones{1, 1};
    c10::List<std::optional<at::Scalar>> bounds;
    if (relu6 != 0) {
      bounds.push_back(at::Scalar(0.0));
      bounds.push_back(at::Scalar(6.0));
    }
    torch::jit::Stack stack{borrowed(x), borrowed(weight), borrowed(bias), twice_padding, twice_stride, ones, groups,
                            relu6 != 0 ? "hardtanh" : "none", bounds, ""};
    convolve.callBoxed(stack);
    *result = new at::Tensor(stack.at(0).toTensor());
  });
}

int shim_use_one_thread(int *threads) {
  return guarded([&] {
    // libtorch gives a thread its number of helpers at the first work there; what is set before is lost.
    at::get_num_threads();
    // The OpenMP that libtorch has brought along. Linking one here could bring a second.
    void *symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (symbol != nullptr) {
      reinterpret_cast<void (*)(int)>(symbol)(1);
    }
    *threads = at::get_num_threads();
  });
}

int shim_tune(int most) {
  return guarded([&] {
    at::globalContext().setBenchmarkLimitCuDNN(most);
    at::globalContext().setBenchmarkCuDNN(most != 0);
  });
}

int shim_random_state(int index, void **result) {
  return guarded([&] {
    auto generator = generator_of(index);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    *result = new at::Tensor(generator.get_state());
  });
}

int shim_set_random_state(int index, const void *state) {
  return guarded([&] {
    auto generator = generator_of(index);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(*static_cast<const at::Tensor *>(state));
  });
}

int shim_set_deterministic(int on) {
  return guarded([&] {
    auto &context = at::globalContext();
    context.setDeterministicAlgorithms(on != 0, /*warn_only=*/false);
    // PyTorch would also fill all fresh memory with NaN: a debugging aid that costs a pass over every output.
    context.setDeterministicFillUninitializedMemory(false);
    context.setDeterministicCuDNN(on != 0);
    context.setDeterministicMkldnn(on != 0);
    if (on != 0) {
      // Timing kernels against each other picks a different winner on a different day.
      context.setBenchmarkCuDNN(false);
    }
  });
}

int shim_is_deterministic(int *answer) {
  return guarded([&] { *answer = at::globalContext().deterministicAlgorithms() ? 1 : 0; });
}

int shim_allow_tf32(int on) {
  return guarded([&] {
    auto &context = at::globalContext();
    context.setAllowTF32CuBLAS(on != 0);
    context.setAllowTF32CuDNN(on != 0);
  });
}

int shim_is_tf32_allowed(int *answer) {
  return guarded([&] { *answer = at::globalContext().allowTF32CuBLAS() ? 1 : 0; });
}

int shim_cuda_peak(int index, int *known, uint64_t *bytes) {
  return guarded([&] {
    auto *allocator = cuda_allocator();
    *known = allocator != nullptr && allocator->initialized() ? 1 : 0;
    if (*known != 0) {
      const auto stats = allocator->getDeviceStats(static_cast<c10::DeviceIndex>(index));
      const auto total = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
      *bytes = static_cast<uint64_t>(stats.allocated_bytes[total].peak);
    }
  });
}

int shim_cuda_reset_peak(int index) {
  return guarded([&] {
    auto *allocator = cuda_allocator();
    if (allocator != nullptr && allocator->initialized()) {
      allocator->resetPeakStats(static_cast<c10::DeviceIndex>(index));
    }
  });
}

int shim_graph_begin(int index, void **result) {
  return guarded([&] {
    if (recordings_ended) {
      throw std::runtime_error("a recording failed before, so no more are made");
    }
    const auto &guard = cuda_guard();
    const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
    guard.synchronizeDevice(device.index());
    auto graph = std::make_unique<Graph>(guard.getStream(device));
    begin_recording(*graph);
    *result = graph.release();
  });
}

int shim_graph_end(void *graph) {
  const int code = guarded([&] { end_recording(graph_of(graph)); });
  if (code != 0) {
    const std::string why = last_error;
    guarded([&] { record_nothing(graph_of(graph).outside); });
    last_error = why;
    leave_behind(graph);
  }
  return code;
}

int shim_graph_abandon(void *graph) {
  const int code = guarded([&] {
    if (graph_of(graph).recording) {
      end_recording(graph_of(graph));
    }
  });
  if (code != 0) {
    guarded([&] { record_nothing(graph_of(graph).outside); });
    leave_behind(graph);
  } else {
    shim_graph_free(graph);
  }
  return code;
}

int shim_graph_replay(void *graph) {
  return guarded([&] { graph_calls().replay(graph_of(graph).object); });
}

void shim_graph_free(void *graph) { delete static_cast<Graph *>(graph); }

int shim_ram_peak(uint64_t *bytes) {
  return guarded([&] {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
      throw std::runtime_error("getrusage failed");
    }
#ifdef __APPLE__
    *bytes = static_cast<uint64_t>(usage.ru_maxrss);
#else
    *bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
  });
}

} // extern "C"

// NCCL through its C interface. libtorch_cuda.so needs libnccl.so.2, so it is mapped once CUDA is open; ProcessGroupNCCL of
// libtorch would want CUDA's and NCCL's headers, and ends the process from a thread of its own.

#include "nccl.h"
#include "guarded.h"

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

// What follows is as in the nccl.h of NCCL 2.28.9, and has been the same since 2.13, which added ncclGetLastError. Enums are ints.
struct Id {
  char bytes[SHIM_NCCL_ID];
};

constexpr int SUCCESS = 0, IN_PROGRESS = 7;
constexpr int SUM = 0;
constexpr int OLDEST = 21300;

int type_of(const at::Tensor &tensor) {
  switch (tensor.scalar_type()) {
  case at::kByte:
    return 1;
  case at::kInt:
    return 2;
  case at::kLong:
    return 4;
  case at::kHalf:
    return 6;
  case at::kFloat:
    return 7;
  case at::kDouble:
    return 8;
  case at::kBFloat16:
    return 9;
  default:
    throw std::runtime_error(std::string("NCCL does not add up numbers of the type ") + c10::toString(tensor.scalar_type()));
  }
}

template <typename Function>
void find(void *library, Function &function, const char *name) {
  void *symbol = dlsym(library, name);
  if (symbol == nullptr) {
    throw std::runtime_error(std::string("there is no ") + name);
  }
  function = reinterpret_cast<Function>(symbol);
}

// One that is mapped already is found by this name too, wherever it lies.
void *library(const char *name) {
  void *found = dlopen(name, RTLD_NOW);
  if (found == nullptr) {
    const char *why = dlerror();
    throw std::runtime_error(why != nullptr ? why : std::string(name) + " cannot be opened");
  }
  return found;
}

struct Calls {
  int (*version)(int *);
  int (*unique_id)(Id *);
  int (*join)(void **, int, Id, int);
  int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
  int (*async_error)(void *, int *);
  int (*destroy)(void *);
  int (*abort)(void *);
  const char *(*text)(int);
  const char *(*last_error)(void *);

  Calls() {
    void *nccl = library("libnccl.so.2");
    find(nccl, version, "ncclGetVersion");
    find(nccl, unique_id, "ncclGetUniqueId");
    find(nccl, join, "ncclCommInitRank");
    find(nccl, all_reduce, "ncclAllReduce");
    find(nccl, async_error, "ncclCommGetAsyncError");
    find(nccl, destroy, "ncclCommDestroy");
    find(nccl, abort, "ncclCommAbort");
    find(nccl, text, "ncclGetErrorString");
    int found = 0;
    if (version(&found) != SUCCESS || found < OLDEST) {
      throw std::runtime_error("NCCL is older than 2.13, by its number " + std::to_string(found));
    }
    find(nccl, last_error, "ncclGetLastError");
  }
};

const Calls &calls() {
  static const Calls found;
  return found;
}

std::string told(int code) {
  const char *text = calls().text(code), *more = calls().last_error(nullptr);
  std::string said = "NCCL: " + std::string(text != nullptr ? text : "error " + std::to_string(code));
  if (more != nullptr && *more != '\0') {
    said += ": ";
    said += more;
  }
  return said;
}

// NCCL_COMM_BLOCKING=0 has calls return before they are done.
int settled(void *communicator, int code) {
  while (code == IN_PROGRESS) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int asked = calls().async_error(communicator, &code);
    if (asked != SUCCESS) {
      return asked;
    }
  }
  return code;
}

void expect(int code) {
  if (code != SUCCESS) {
    throw std::runtime_error(told(code));
  }
}

// Work that may wait for a peer that never comes. It is done by a thread of its own, and left behind when its time is over.
struct Errand {
  std::mutex mutex;
  std::condition_variable told;
  bool done = false, left_behind = false;
  std::string failure;
  void *communicator = nullptr;

  // Whether it was done in time.
  bool wait(int64_t milliseconds) {
    std::unique_lock<std::mutex> lock(mutex);
    if (!told.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return done; })) {
      left_behind = true;
    }
    return !left_behind;
  }

  // Whether somebody still waits for it.
  bool finish(void *result, std::string why) {
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
    communicator = result;
    failure = std::move(why);
    told.notify_all();
    return !left_behind;
  }
};

void join(const std::shared_ptr<Errand> &errand, Id id, int rank, int size, c10::Device device) {
  void *communicator = nullptr;
  const int failed = guarded([&] {
    c10::impl::getDeviceGuardImpl(at::kCUDA)->setDevice(device);
    const int code = calls().join(&communicator, size, id, rank);
    expect(settled(communicator, code));
  });
  if (failed != 0) {
    communicator = nullptr;
  }
  if (!errand->finish(communicator, failed != 0 ? last_error : "") && communicator != nullptr) {
    calls().abort(communicator);
  }
}

struct Communicator {
  void *handle;
  c10::Device device;
  // One sum is asked for at a time.
  std::mutex mutex{};
};

Communicator &group_of(void *group) { return *static_cast<Communicator *>(group); }

// To tidy up takes milliseconds, unless something still counts on the group.
constexpr int64_t TIDYING_MS = 5000;

} // namespace

extern "C" {

int shim_nccl_version(int *version) {
  return guarded([&] { expect(calls().version(version)); });
}

int shim_nccl_id(uint8_t *id) {
  return guarded([&] {
    Id fresh;
    expect(calls().unique_id(&fresh));
    std::memcpy(id, fresh.bytes, sizeof(fresh.bytes));
  });
}

int shim_nccl_join(const uint8_t *id, int rank, int size, int index, int64_t timeout_ms, void **group) {
  return guarded([&] {
    calls();
    Id given;
    std::memcpy(given.bytes, id, sizeof(given.bytes));
    const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
    const auto errand = std::make_shared<Errand>();
    std::thread(join, errand, given, rank, size, device).detach();
    if (!errand->wait(timeout_ms)) {
      throw std::runtime_error("NCCL: not all processes came within " + std::to_string(timeout_ms / 1000) + " s");
    }
    if (!errand->failure.empty()) {
      throw std::runtime_error(errand->failure);
    }
    *group = new Communicator{errand->communicator, device};
  });
}

int shim_nccl_sum(void *group, const void *from, const void *to) {
  return guarded([&] {
    auto &communicator = group_of(group);
    const auto &source = borrowed(from), &target = borrowed(to);
    const int type = type_of(source);
    const c10::DeviceGuard device(communicator.device);
    const auto stream = c10::impl::getDeviceGuardImpl(at::kCUDA)->getStream(communicator.device);
    const std::lock_guard<std::mutex> lock(communicator.mutex);
    const int code = calls().all_reduce(source.const_data_ptr(), target.mutable_data_ptr(), static_cast<size_t>(source.numel()),
                                        type, SUM, communicator.handle, stream.native_handle());
    expect(settled(communicator.handle, code));
  });
}

int shim_nccl_trouble(void *group) {
  return guarded([&] {
    int found = SUCCESS;
    expect(calls().async_error(group_of(group).handle, &found));
    if (found != IN_PROGRESS) {
      expect(found);
    }
  });
}

void shim_nccl_close(void *group) {
  const std::unique_ptr<Communicator> communicator(static_cast<Communicator *>(group));
  guarded([&] {
    const auto errand = std::make_shared<Errand>();
    std::thread([errand, handle = communicator->handle, device = communicator->device] {
      guarded([&] {
        c10::impl::getDeviceGuardImpl(at::kCUDA)->setDevice(device);
        calls().destroy(handle);
      });
      errand->finish(nullptr, "");
    }).detach();
    errand->wait(TIDYING_MS);
  });
}

int shim_gpu_uuid(int index, uint8_t *uuid) {
  return guarded([&] {
    // CUDA's driver, whose functions keep their signatures over versions. The second form tells parts of a GPU from each other.
    int (*device_of)(int *, int) = nullptr;
    int (*uuid_of)(Id *, int) = nullptr;
    void *cuda = library("libcuda.so.1");
    find(cuda, device_of, "cuDeviceGet");
    find(cuda, uuid_of, "cuDeviceGetUuid_v2");
    // Larger than the 16 bytes that are written.
    Id found;
    int device = 0;
    if (device_of(&device, index) != 0 || uuid_of(&found, device) != 0) {
      throw std::runtime_error("the driver does not tell which GPU " + std::to_string(index) + " is");
    }
    std::memcpy(uuid, found.bytes, 16);
  });
}

} // extern "C"

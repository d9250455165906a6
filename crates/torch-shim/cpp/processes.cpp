#include "processes.h"
#include "guarded.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

// The object is made here and used by libtorch_cpu.so, which was compiled with gloo's own headers. All its members of gloo's
// types are pointers, so the size tells whether the layout is the same. For torch 2.11.0.
static_assert(sizeof(void *) != 8 || sizeof(c10d::ProcessGroupGloo) == 488, "another libtorch than 2.11.0?");

namespace {

using Milliseconds = std::chrono::milliseconds;
using StorePointer = c10::intrusive_ptr<c10d::Store>;
using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

StorePointer &store_of(void *store) { return *static_cast<StorePointer *>(store); }
GroupPointer &group_of(void *group) { return *static_cast<GroupPointer *>(group); }

} // namespace

extern "C" {

int shim_store_open(const char *host, int *port, int serve, int64_t timeout_ms, void **store) {
  return guarded([&] {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(*port);
    options.isServer = serve != 0;
    // Who is there is found out by name, so that those who are not can be named too.
    options.waitWorkers = false;
    options.timeout = Milliseconds(timeout_ms);
    auto opened = c10::make_intrusive<c10d::TCPStore>(std::string(host), options);
    *port = opened->getPort();
    *store = new StorePointer(opened);
  });
}

int shim_store_set(void *store, const char *key, const uint8_t *value, int64_t count) {
  return guarded([&] { store_of(store)->set(key, std::vector<uint8_t>(value, value + count)); });
}

int shim_store_get(void *store, const char *key, int64_t timeout_ms, void **result) {
  return guarded([&] {
    store_of(store)->wait({key}, Milliseconds(timeout_ms));
    const auto value = store_of(store)->get(key);
    auto bytes = at::empty({static_cast<int64_t>(value.size())}, at::kByte);
    std::copy(value.begin(), value.end(), bytes.mutable_data_ptr<uint8_t>());
    *result = new at::Tensor(bytes);
  });
}

int shim_store_has(void *store, const char *key, int *answer) {
  return guarded([&] { *answer = store_of(store)->check({key}) ? 1 : 0; });
}

void shim_store_close(void *store) { delete static_cast<StorePointer *>(store); }

int shim_group_open(void *store, const char *prefix, int rank, int size, const char *address, int64_t timeout_ms,
                    void **group) {
  return guarded([&] {
    auto options = c10d::ProcessGroupGloo::Options::create(Milliseconds(timeout_ms));
    options->devices.push_back(address != nullptr ? c10d::ProcessGroupGloo::createDeviceForHostname(address)
                                                  : c10d::ProcessGroupGloo::createDefaultDevice());
    auto named = c10::make_intrusive<c10d::PrefixStore>(std::string(prefix), store_of(store));
    *group = new GroupPointer(c10::make_intrusive<c10d::ProcessGroupGloo>(named, rank, size, options));
  });
}

int shim_group_sum(void *group, const void *tensor) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{borrowed(tensor)};
    group_of(group)->allreduce(tensors)->wait();
  });
}

int shim_group_broadcast(void *group, const void *tensor, int root) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{borrowed(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    group_of(group)->broadcast(tensors, options)->wait();
  });
}

int shim_group_gather(void *group, const void *tensor, void *const *results, int size) {
  return guarded([&] {
    std::vector<std::vector<at::Tensor>> outputs{borrowed(results, size)};
    std::vector<at::Tensor> inputs{borrowed(tensor)};
    group_of(group)->allgather(outputs, inputs)->wait();
  });
}

int shim_group_barrier(void *group) {
  return guarded([&] { group_of(group)->barrier()->wait(); });
}

void shim_group_close(void *group) { delete static_cast<GroupPointer *>(group); }

void shim_leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

} // extern "C"

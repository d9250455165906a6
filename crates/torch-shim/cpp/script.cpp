// A TorchScript module put together from source and tensors, and saved. tch can only load one, or trace one whose weights
// are constants that cannot move to another device.

#include "shim.h"
#include "guarded.h"

#include <string>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

namespace {

torch::jit::Module &module_of(void *module) { return *static_cast<torch::jit::Module *>(module); }

} // namespace

extern "C" {

int shim_script_new(const char *name, void **module) {
  return guarded([&] { *module = new torch::jit::Module(std::string("__torch__.") + name); });
}

int shim_script_buffer(void *module, const char *name, const void *tensor) {
  return guarded([&] { module_of(module).register_buffer(name, borrowed(tensor).detach()); });
}

int shim_script_part(void *module, const char *name, const char *path) {
  return guarded([&] {
    torch::jit::Module part = torch::jit::load(path, at::kCPU);
    part.eval();
    for (at::Tensor parameter : part.parameters()) {
      parameter.requires_grad_(false);
    }
    module_of(module).register_module(name, part);
  });
}

int shim_script_define(void *module, const char *source) {
  return guarded([&] {
    module_of(module).define(source);
    module_of(module).eval();
  });
}

int shim_script_save(void *module, const char *path) {
  return guarded([&] { module_of(module).save(path); });
}

void shim_script_free(void *module) { delete static_cast<torch::jit::Module *>(module); }

} // extern "C"

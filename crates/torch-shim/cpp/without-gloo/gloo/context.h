// libtorch ships without the headers of gloo, and its own names these types only behind pointers: declared here, never used.
#pragma once

#include <chrono>

namespace gloo {
struct Context {
  void setTimeout(std::chrono::milliseconds);
};
} // namespace gloo

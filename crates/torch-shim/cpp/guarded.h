// How an exception becomes a code and a message, and a pointer from Rust a tensor.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

inline thread_local std::string last_error;

// Runs `body` and turns whatever it throws into a code and a message.
template <typename Body>
int guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const c10::Error &error) {
    // Without the backtrace, which says nothing to who made the mistake.
    last_error = error.what_without_backtrace();
  } catch (const std::exception &error) {
    last_error = error.what();
  } catch (...) {
    last_error = "an exception that is not a std::exception";
  }
  return 1;
}

inline const at::Tensor &borrowed(const void *tensor) { return *static_cast<const at::Tensor *>(tensor); }

inline std::vector<at::Tensor> borrowed(void *const *tensors, int count) {
  std::vector<at::Tensor> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(borrowed(tensors[i]));
  }
  return all;
}

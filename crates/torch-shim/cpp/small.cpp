// Our own kernels for small networks of plain numbers (cuda/small.cu) as libtorch's operations.

#include "shim.h"
#include "guarded.h"
#include "launch.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace {

using namespace own;

// As in cuda/small.cu.
constexpr int MOST_PARAMETERS = 8;
constexpr unsigned SIDE_BY_SIDE = 8, BELOW = 128;

struct Parameters {
  void *value[MOST_PARAMETERS], *slope[MOST_PARAMETERS], *mean[MOST_PARAMETERS], *square[MOST_PARAMETERS],
      *count[MOST_PARAMETERS];
  long long end[MOST_PARAMETERS];
  int parameters;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A layer whose bias learns from sums of our own.
struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext *context, const at::Tensor &x, const at::Tensor &weight, const at::Tensor &bias) {
    context->save_for_backward({x, weight});
    return at::addmm(bias, x, weight.t());
  }

  static variable_list backward(AutogradContext *context, variable_list slopes) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1];
    const auto slope = slopes[0].contiguous();
    TORCH_CHECK(slope.scalar_type() == at::kFloat, "slopes of a layer of ours are f32");
    const auto rows = static_cast<int>(slope.size(0)), columns = static_cast<int>(slope.size(1));
    auto dbias = at::empty({columns}, slope.options());
    launch("column_sums", {(columns + SIDE_BY_SIDE - 1) / SIDE_BY_SIDE, 1, SIDE_BY_SIDE, BELOW}, slope, data(slope),
           data(dbias), rows, columns);
    const auto dx = context->needs_input_grad(0) ? slope.mm(weight) : at::Tensor();
    return {dx, slope.t().mm(x), dbias};
  }
};

} // namespace

extern "C" {

int shim_linear(const void *x, const void *weight, const void *bias, void **result) {
  return guarded([&] { *result = new at::Tensor(Linear::apply(borrowed(x), borrowed(weight), borrowed(bias))); });
}

int shim_adam(void *const *values, void *const *slopes, void *const *means, void *const *squares, void *const *counts,
              int count, const void *rate) {
  return guarded([&] {
    const c10::AutoGradMode no_gradients(false);
    at::_foreach_add_(borrowed(counts, count), 1.0);
    Parameters all{};
    for (int i = 0; i < count; ++i) {
      all.value[i] = data(borrowed(values[i]));
      all.slope[i] = data(borrowed(slopes[i]));
      all.mean[i] = data(borrowed(means[i]));
      all.square[i] = data(borrowed(squares[i]));
      all.count[i] = data(borrowed(counts[i]));
      all.end[i] = (i > 0 ? all.end[i - 1] : 0) + borrowed(values[i]).numel();
    }
    all.parameters = count;
    launch("adam", {blocks(all.end[count - 1], 4, MOST_PASSES)}, borrowed(values[0]), all, data(borrowed(rate)), 0.9, 0.999,
           1e-8f);
    // As libtorch's operations do: what autograd has kept of a parameter is not what it is now.
    for (int i = 0; i < count; ++i) {
      borrowed(values[i]).unsafeGetTensorImpl()->bump_version();
    }
  });
}

int shim_backward_from(const void *result, const void *slope) {
  return guarded([&] { borrowed(result).backward(borrowed(slope)); });
}

} // extern "C"

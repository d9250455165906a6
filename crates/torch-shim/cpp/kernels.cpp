// Our own kernels (those of cuda) as libtorch's operations, those that learn taught to autograd.

#include "shim.h"
#include "guarded.h"
#include "launch.h"
#include "look_on_cpu.h"

#include <optional>
#include <vector>

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace {

using namespace own;

struct Shape {
  int height, width, out_height, out_width, vectors;

  explicit Shape(const at::Tensor &x)
      : height(static_cast<int>(x.size(2))), width(static_cast<int>(x.size(3))), out_height((height - 1) / 2 + 1),
        out_width((width - 1) / 2 + 1), vectors(static_cast<int>(x.size(1) / 8)) {}
};

// For kernels that add up what blocks have found for each channel.
Grid by_channel(int channels) { return {static_cast<unsigned>((channels + 31) / 32), 1, 32, 32}; }

// The second half of a normalization.
at::Tensor applied(const at::Tensor &x, const at::Tensor &around, const at::Tensor &mean, const at::Tensor &rstd,
                   const at::Tensor &gamma, const at::Tensor &beta, bool relu) {
  const Shape shape(x);
  auto y = maps_like(x, shape.height, shape.width);
  const long long count = x.numel() / 8;
  launch("norm_apply", {blocks(count, 4, MOST_PASSES)}, x, data(x), data(around), data(mean), data(rstd), data(gamma),
         data(beta), data(y), count, shape.vectors, static_cast<int>(relu));
  return y;
}

// The same with ReLU and pooling, or with a bias alone: y, and where the slope is to find its way back the places of the largest.
std::pair<at::Tensor, at::Tensor> pooled(const at::Tensor &x, const at::Tensor &mean, const at::Tensor &rstd,
                                         const at::Tensor &gamma, const at::Tensor &beta) {
  const Shape shape(x);
  auto y = maps_like(x, shape.out_height, shape.out_width);
  at::Tensor places;
  if (mean.defined()) {
    places = at::empty({y.numel()}, x.options().dtype(at::kByte));
  }
  const long long count = y.numel() / 8;
  launch("pool_apply", {blocks(count, 2, MOST_PASSES)}, x, data(x), data(mean), data(rstd), data(gamma), data(beta), data(y),
         data(places), count, shape);
  return {y, places};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// BatchNorm in training, with what follows it: the way around, ReLU, pooling.
struct Norm : torch::autograd::Function<Norm> {
  static at::Tensor forward(AutogradContext *context, const at::Tensor &x, const at::Tensor &gamma, const at::Tensor &beta,
                            const at::Tensor &running_mean, const at::Tensor &running_var,
                            const std::optional<at::Tensor> &given, bool relu, bool pool, double momentum,
                            double epsilon) {
    const auto around = given.value_or(at::Tensor());
    const int channels = static_cast<int>(x.size(1)), vectors = channels / 8;
    const long long rows = x.numel() / channels;
    const unsigned parts = blocks(x.numel() / 8, 4, MOST_SUMS);
    const auto numbers = gamma.options().requires_grad(false);
    auto partial = at::empty({parts, 2, channels}, numbers);
    auto mean = at::empty({channels}, numbers), rstd = at::empty({channels}, numbers);
    launch("norm_statistics", {parts}, x, data(x), data(partial), rows, vectors);
    const auto settle = by_channel(channels);
    launch("norm_settle", settle, x, data(x), data(partial), static_cast<int>(parts), rows, channels,
           static_cast<float>(epsilon), static_cast<float>(momentum), data(mean), data(rstd), data(running_mean),
           data(running_var));
    auto [y, places] = pool ? pooled(x, mean, rstd, gamma, beta)
                            : std::make_pair(applied(x, around, mean, rstd, gamma, beta, relu), at::Tensor());
    // Without a way around x tells where ReLU let something through.
    const auto kept = relu && around.defined() ? y : at::Tensor();
    context->save_for_backward({x, gamma, beta, mean, rstd, kept, places});
    context->saved_data["relu"] = relu;
    context->saved_data["around"] = around.defined();
    return y;
  }

  static variable_list backward(AutogradContext *context, variable_list slopes) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &gamma = saved[1], &beta = saved[2], &mean = saved[3], &rstd = saved[4], &y = saved[5],
               &places = saved[6];
    const bool relu = context->saved_data["relu"].toBool(), around = context->saved_data["around"].toBool();
    const Shape shape(x);
    const int channels = static_cast<int>(x.size(1));
    const long long rows = x.numel() / channels;
    const auto dy = channels_last(slopes[0]);
    auto dgamma = at::empty_like(gamma), dbeta = at::empty_like(beta);
    auto dx = maps_like(x, shape.height, shape.width);
    const unsigned parts = blocks(dy.numel() / 8, 4, MOST_SUMS), passes = blocks(x.numel() / 8, 4, MOST_PASSES);
    auto partial = at::empty({parts, 2, channels}, gamma.options());
    const int with_relu = relu;
    if (places.defined()) {
      const long long pixels = dy.numel() / channels;
      launch("pool_slope_sums", {parts}, x, data(dy), data(x), data(places), data(mean), data(rstd), data(partial), pixels,
             shape);
    } else {
      launch("norm_slope_sums", {parts}, x, data(dy), data(x), data(y), data(mean), data(rstd), data(gamma), data(beta),
             data(partial), rows, shape.vectors, with_relu);
    }
    const auto settle = by_channel(channels);
    launch("norm_slope_settle", settle, x, data(partial), static_cast<int>(parts), channels, data(dgamma), data(dbeta));
    at::Tensor daround;
    if (places.defined()) {
      launch("pool_slope_apply", {passes}, x, data(dy), data(x), data(places), data(mean), data(rstd), data(gamma),
             data(dgamma), data(dbeta), data(dx), rows, shape);
    } else {
      // Without ReLU the way around gets the slope as it comes.
      daround = around ? (relu ? maps_like(x, shape.height, shape.width) : dy) : at::Tensor();
      launch("norm_slope_apply", {passes}, x, data(dy), data(x), data(y), data(mean), data(rstd), data(gamma), data(beta),
             data(dgamma), data(dbeta), data(dx), relu ? data(daround) : nullptr, rows, shape.vectors, with_relu);
    }
    return {dx, dgamma, dbeta, {}, {}, daround, {}, {}, {}, {}};
  }
};

// How far the profiles of maps (squares summed along rows and along columns) have turned, for each stage and image.
// Only the new maps learn.
struct Pod : torch::autograd::Function<Pod> {
  static Grid grid(const at::Tensor &x, int64_t items) {
    return {static_cast<unsigned>(std::max<int64_t>((items + 255) / 256, 1)), static_cast<unsigned>(x.size(0))};
  }

  static at::Tensor profile(const at::Tensor &x) {
    const Shape shape(x);
    const int64_t lines = shape.height + shape.width;
    auto out = at::empty({x.size(0), lines * x.size(1)}, x.options().dtype(at::kFloat).requires_grad(false));
    launch("profile", grid(x, lines * shape.vectors), x, data(x), data(out), shape.height, shape.width, shape.vectors);
    return out;
  }

  static at::Tensor forward(AutogradContext *context, at::TensorList maps, at::TensorList old) {
    const auto stages = static_cast<int64_t>(maps.size()), images = maps[0].size(0);
    const auto numbers = maps[0].options().dtype(at::kFloat).requires_grad(false);
    auto distances = at::empty({stages, images}, numbers);
    variable_list saved;
    for (int64_t stage = 0; stage < stages; ++stage) {
      const auto a = profile(maps[stage]), t = profile(old[stage]);
      auto factors = at::empty({images, 2}, numbers);
      launch("profile_distance", {static_cast<unsigned>(images)}, a, data(a), data(t), data(distances[stage]), data(factors),
             static_cast<int>(a.size(1) / 4));
      saved.insert(saved.end(), {maps[stage], a, t, factors});
    }
    context->save_for_backward(saved);
    return distances;
  }

  static variable_list backward(AutogradContext *context, variable_list slopes) {
    const auto saved = context->get_saved_variables();
    const auto slope = slopes[0].contiguous();
    const size_t stages = saved.size() / 4;
    variable_list result(2 * stages);
    for (size_t stage = 0; stage < stages; ++stage) {
      const auto &x = saved[4 * stage], &a = saved[4 * stage + 1], &t = saved[4 * stage + 2];
      const auto &factors = saved[4 * stage + 3];
      const Shape shape(x);
      auto dx = maps_like(x, shape.height, shape.width);
      launch("profile_slope", grid(x, static_cast<int64_t>(shape.height) * shape.width * shape.vectors), x, data(x), data(a),
             data(t), data(factors), data(slope[static_cast<int64_t>(stage)]), data(dx), shape.height, shape.width,
             shape.vectors);
      result[stage] = dx;
    }
    return result;
  }
};

std::optional<at::Tensor> optional(const void *tensor) {
  return tensor != nullptr ? std::optional<at::Tensor>(borrowed(tensor)) : std::nullopt;
}

} // namespace

extern "C" {

int shim_cuda_about(int index, int *major, uint64_t *free) {
  return guarded([&] {
    const c10::DeviceGuard guard(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
    at::empty({1}, at::TensorOptions().device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
    expect(driver().device_attribute(major, /*compute capability, major*/ 75, context_device()), "cuDeviceGetAttribute");
    size_t left = 0, all = 0;
    expect(driver().memory(&left, &all), "cuMemGetInfo");
    *free = left;
  });
}

int shim_kernels_compile(int index, const char *source) {
  return guarded([&] {
    const c10::DeviceGuard guard(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
    // Something on the device, so that CUDA has started there.
    at::empty({1}, at::TensorOptions().device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
    kernels().compile(source);
  });
}

int shim_norm(const void *x, const void *gamma, const void *beta, const void *running_mean, const void *running_var,
              const void *around, int relu, int pool, double momentum, double epsilon, void **result) {
  return guarded([&] {
    *result = new at::Tensor(Norm::apply(borrowed(x), borrowed(gamma), borrowed(beta), borrowed(running_mean),
                                         borrowed(running_var), optional(around), relu != 0, pool != 0, momentum, epsilon));
  });
}

int shim_add_bias(const void *x, const void *bias, const void *around, int relu, int pool, double most, void **result) {
  return guarded([&] {
    const auto &maps = borrowed(x);
    if (pool != 0) {
      *result = new at::Tensor(pooled(maps, {}, {}, {}, borrowed(bias)).first);
      return;
    }
    auto y = maps_like(maps, maps.size(2), maps.size(3));
    const long long count = maps.numel() / 8;
    launch("bias_apply", {blocks(count, 4, MOST_PASSES)}, maps, data(maps), data(optional(around).value_or(at::Tensor())),
           data(borrowed(bias)), data(y), count, static_cast<int>(maps.size(1) / 8), relu, static_cast<float>(most));
    *result = new at::Tensor(std::move(y));
  });
}

int shim_pod(void *const *maps, void *const *old, int stages, void **result) {
  return guarded([&] {
    const auto now = borrowed(maps, stages), before = borrowed(old, stages);
    // As lists of tensors, for autograd looks into nothing else.
    *result = new at::Tensor(Pod::apply(at::TensorList(now), at::TensorList(before)));
  });
}

int shim_look(const void *pixels, const void *places, const void *how, const void *slope, const void *shift, int size, int bf16,
              void **result) {
  return guarded([&] {
    const auto &stock = borrowed(pixels);
    const int batch = static_cast<int>(borrowed(places).size(0)), channels = static_cast<int>(stock.size(1));
    auto seen = at::empty({batch, channels, size, size}, stock.options()
                                                             .dtype(bf16 != 0 ? at::kBFloat16 : at::kFloat)
                                                             .memory_format(at::MemoryFormat::ChannelsLast));
    const auto with = [&](auto call) {
      call(data(stock), data(borrowed(places)), data(borrowed(how)), data(borrowed(slope)), data(borrowed(shift)), data(seen),
           bf16, batch, channels, size);
    };
    if (stock.is_cuda()) {
      const Grid grid{blocks(static_cast<int64_t>(batch) * size * size, 1, 1 << 16)};
      with([&](auto... arguments) { launch("look", grid, stock, arguments...); });
    } else {
      with(look_on_cpu);
    }
    *result = new at::Tensor(std::move(seen));
  });
}

int shim_mmd_weigh(const void *products, const void *of_rows, const void *of_columns, const void *rates, int split,
                   double across, double within, void **sums) {
  return guarded([&] {
    const auto &matrix = borrowed(products);
    const int rows = static_cast<int>(matrix.size(0)), columns = static_cast<int>(matrix.size(1));
    const int bandwidths = static_cast<int>(borrowed(rates).numel());
    auto result = at::empty({3, rows}, matrix.options());
    launch("mmd_weigh", {static_cast<unsigned>(rows)}, matrix, data(matrix), data(borrowed(of_rows)),
           data(borrowed(of_columns)), data(borrowed(rates)), bandwidths, data(result), rows, columns, split,
           static_cast<float>(across), static_cast<float>(within));
    *sums = new at::Tensor(std::move(result));
  });
}

} // extern "C"

// The first convolution with what follows it (`cuda/stem.cu`) as one operation of libtorch's, which autograd knows the way
// back through.

#include "shim.h"
#include "guarded.h"
#include "launch.h"

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace {

using namespace own;

#include "../cuda/stem_sizes.cu"

StemShape shape_of(const at::Tensor &x) {
  const int height = static_cast<int>(x.size(2)), width = static_cast<int>(x.size(3));
  return {static_cast<int>(x.size(0)), height, width, (height - 1) / 2 + 1, (width - 1) / 2 + 1};
}

long long pixels_of(const StemShape &shape) { return static_cast<long long>(shape.images) * shape.height * shape.width; }

// Blocks for strips of so many of `rows` of each image, at most `most`.
unsigned strips(const StemShape &shape, int rows, int of_strip, int64_t most) {
  return static_cast<unsigned>(std::min<int64_t>(static_cast<int64_t>(shape.images) * ((rows + of_strip - 1) / of_strip), most));
}

// What blocks found, [blocks, numbers] in f32, added up in f64.
at::Tensor added(const at::Tensor &partial) {
  const int blocks = static_cast<int>(partial.size(0)), numbers = static_cast<int>(partial.size(1));
  auto total = at::empty({numbers}, partial.options().dtype(at::kDouble));
  launch("add_up", {static_cast<unsigned>(numbers / 32), 1, 32, 8}, partial, data(partial), blocks, numbers, data(total));
  return total;
}

at::Tensor pooled(const at::Tensor &x, const at::Tensor &weight, const at::Tensor &mean, const at::Tensor &rstd,
                  const at::Tensor &gamma, const at::Tensor &beta, const at::Tensor &places) {
  const auto shape = shape_of(x);
  auto y = at::empty({x.size(0), STEM, shape.out_height, shape.out_width},
                     x.options().memory_format(at::MemoryFormat::ChannelsLast));
  launch("stem_pool", {strips(shape, shape.out_height, POOLED_ROWS, MOST_PASSES)}, x, data(x), data(weight), data(mean), data(rstd),
         data(gamma), data(beta), data(y), data(places), shape);
  return y;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Stem : torch::autograd::Function<Stem> {
  static at::Tensor forward(AutogradContext *context, const at::Tensor &x, const at::Tensor &weight,
                            const at::Tensor &gamma, const at::Tensor &beta, const at::Tensor &running_mean,
                            const at::Tensor &running_var, double momentum, double epsilon) {
    const auto shape = shape_of(x);
    const auto numbers = gamma.options().requires_grad(false);
    const unsigned parts = strips(shape, shape.height, PLAIN_ROWS, MOST_SUMS);
    auto partial = at::empty({parts, SLOTS * SLOTS}, numbers);
    launch("stem_products", {parts}, x, data(x), data(partial), shape);
    const auto products = added(partial);
    auto mean = at::empty({STEM}, numbers), rstd = at::empty({STEM}, numbers);
    const long long pixels = pixels_of(shape);
    launch("stem_settle", {STEM, 1, 32, 1}, x, data(weight), data(products), pixels, static_cast<float>(epsilon),
           static_cast<float>(momentum), data(mean), data(rstd), data(running_mean), data(running_var));
    auto places = at::empty({x.size(0), shape.out_height, shape.out_width, STEM}, x.options().dtype(at::kByte));
    auto y = pooled(x, weight, mean, rstd, gamma, beta, places);
    context->save_for_backward({x, weight, gamma, mean, rstd, places, products});
    return y;
  }

  static variable_list backward(AutogradContext *context, variable_list arrived) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &gamma = saved[2], &mean = saved[3], &rstd = saved[4],
               &places = saved[5], &products = saved[6];
    const auto shape = shape_of(x);
    const auto dy = channels_last(arrived[0]);
    const unsigned parts = strips(shape, shape.out_height, POOLED_ROWS, MOST_SUMS / 2);
    auto partial = at::empty({parts, SLOTS * STEM}, gamma.options().requires_grad(false));
    launch("stem_slopes", {parts}, x, data(x), data(dy), data(places), data(partial), shape);
    const auto slopes = added(partial);
    auto dgamma = at::empty_like(gamma), dbeta = at::empty_like(gamma), dweight = at::empty_like(weight);
    const long long pixels = pixels_of(shape);
    launch("stem_slope_settle", {STEM, 1, 32, 1}, x, data(weight), data(products), data(slopes), data(mean), data(rstd),
           data(gamma), pixels, data(dgamma), data(dbeta), data(dweight));
    return {{}, dweight, dgamma, dbeta, {}, {}, {}, {}};
  }
};

} // namespace

extern "C" {

int shim_stem(const void *x, const void *weight, const void *gamma, const void *beta, const void *running_mean,
              const void *running_var, double momentum, double epsilon, void **result) {
  return guarded([&] {
    *result = new at::Tensor(Stem::apply(borrowed(x), borrowed(weight), borrowed(gamma), borrowed(beta),
                                         borrowed(running_mean), borrowed(running_var), momentum, epsilon));
  });
}

int shim_stem_with_bias(const void *x, const void *weight, const void *bias, void **result) {
  return guarded([&] {
    *result = new at::Tensor(pooled(borrowed(x), borrowed(weight), {}, {}, {}, borrowed(bias), {}));
  });
}

} // extern "C"

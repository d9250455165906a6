// The C face of what tch lacks. Each function answers 0, or 1 with a message in `shim_error()`:
// no C++ exception may cross into Rust.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The message of this thread's last failure; valid until its next one.
const char *shim_error(void);

// Loads libtorch's CUDA half and counts the devices it sees. Failing to load is a failure with the loader's message.
int shim_open_cuda(int *devices);

// Enters autocast to bf16 (or a stretch without autocast) on one kind of device; says what was set before.
int shim_autocast_enter(int cuda, int enabled, int *enabled_before, int *dtype_before);
// Leaves it again; the last one out clears the cache of converted weights.
int shim_autocast_leave(int cuda, int enabled_before, int dtype_before);

// A new tensor (owned by the caller) with the same values, stored channels last.
int shim_channels_last(const void *tensor, void **result);
int shim_is_channels_last(const void *tensor, int *answer);

// Forgets the gradients of `count` tensors.
int shim_clear_gradients(void *const *parameters, int count);
// One step of SGD with momentum on every parameter that has a gradient, all in a few calls. Velocities start at 0.
// `rate` is a tensor of one value, so that a captured step reads it anew each time. Gradients that together are longer than
// `longest` are shortened to that, where they are kept too; 0: however long.
int shim_sgd_step(void *const *parameters, void *const *velocities, int count, const void *rate, double momentum,
                  double weight_decay, double longest);

// One step of Adam on every parameter that has a gradient. Moments start at 0; `counts` are tensors of one value each.
int shim_adam_step(void *const *parameters, void *const *means, void *const *squares, void *const *counts, int count,
                   const void *rate);

// bf16 copies of all `weights`, in as few passes as may be; autograd knows the way back.
int shim_as_bf16(void *const *weights, int count, void **results);

// A copy of the bytes on a CUDA device, or with a negative index on the CPU; they may change when this returns.
int shim_upload(const uint8_t *bytes, int64_t count, int index, void **result);

// Work beside other work: what a thread asks of a GPU after `begin` may run at the same time as what it asks after `end`,
// until `join`. `end` is called in any case, and `join` frees.
int shim_aside_begin(int index, void **aside);
int shim_aside_end(void *aside);
int shim_aside_join(void *aside);

// Weights in the order in which oneDNN wants them for images of `size`, four numbers; null where there is no oneDNN.
int shim_pack_convolution(const void *weight, const int64_t *size, int64_t stride, int64_t padding, int64_t groups,
                          void **result);
// A convolution with such weights, and ReLU6 if asked for, in one pass.
int shim_packed_convolution(const void *x, const void *weight, const void *bias, int64_t stride, int64_t padding,
                            int64_t groups, int relu6, void **result);

// Has this thread compute alone; `threads` says with how many it computes now.
int shim_use_one_thread(int *threads);
// Where libtorch's generator of random numbers stands, on a CUDA device or with a negative index on the CPU: as bytes, a new tensor
// (owned by the caller), and back to there.
int shim_random_state(int index, void **result);
int shim_set_random_state(int index, const void *state);

int shim_set_deterministic(int on);
int shim_is_deterministic(int *answer);
// Has cuDNN time its kernels, at most `most` for each convolution (0: does not).
int shim_tune(int most);
int shim_allow_tf32(int on);
int shim_is_tf32_allowed(int *answer);

// The most bytes that tensors held at once on a CUDA device; `known` is 0 where no allocator runs yet.
int shim_cuda_peak(int index, int *known, uint64_t *bytes);
int shim_cuda_reset_peak(int index);

// CUDA graphs: work recorded once and started again with one call. They need libtorch's CUDA half, opened before.
// Begins to record what this thread (and the backward passes it starts) asks of the device.
int shim_graph_begin(int index, void **graph);
// Ends the recording; on failure the graph is gone.
int shim_graph_end(void *graph);
// Gives up a recording after a failure within it.
int shim_graph_abandon(void *graph);
int shim_graph_replay(void *graph);
void shim_graph_free(void *graph);

// Kernels of our own (cuda), for maps of bf16, channels last, whose channels are 8 times a divisor of 256 unless it says otherwise.
// Compiles them for a device; the second time nothing happens.
int shim_kernels_compile(int index, const char *source);
int shim_cuda_about(int index, int *major, uint64_t *free);
// BatchNorm in training and what follows it: adding `around` (or null), ReLU, pooling 3x3 with stride 2 (only after ReLU,
// and without `around`). Running statistics are moved. Known to autograd.
int shim_norm(const void *x, const void *gamma, const void *beta, const void *running_mean, const void *running_var,
              const void *around, int relu, int pool, double momentum, double epsilon, void **result);
// The same with a bias in place of BatchNorm, not known to autograd; ReLU is up to `most`, and channels are any multiple of 8 where
// nothing is pooled.
int shim_add_bias(const void *x, const void *bias, const void *around, int relu, int pool, double most, void **result);
// The first convolution of a network for small images (bf16 images of 3 channels, at most 256 wide, 3x3 weights to 64 channels,
// all channels last), then BatchNorm in training, ReLU and pooling, without the map between. Known to autograd, but for the images.
int shim_stem(const void *x, const void *weight, const void *gamma, const void *beta, const void *running_mean,
              const void *running_var, double momentum, double epsilon, void **result);
// The same with a bias in place of BatchNorm, not known to autograd.
int shim_stem_with_bias(const void *x, const void *weight, const void *bias, void **result);
// How far the profiles of maps (squares summed along rows, then along columns) point apart: [stages, images]. Known to
// autograd, for `maps` alone.
int shim_pod(void *const *maps, void *const *old, int stages, void **result);
// Images of bytes as they are looked at, on a GPU or a CPU. `pixels` is [pixels of all images, channels]; each of the batch has
// a row of `places` (first pixel, width, height) and a row of `how` (left, top, width, height, shift right, shift down,
// mirrored); times slope plus shift; [batch, channels, size, size], channels last.
int shim_look(const void *pixels, const void *places, const void *how, const void *slope, const void *shift, int size, int bf16,
              void **result);
// Turns products [rows, columns] into MMD's weights in place; `sums` is [3, rows]: of weights, and of kernels left and right
// of `split`.
int shim_mmd_weigh(const void *products, const void *of_rows, const void *of_columns, const void *rates, int split,
                   double across, double within, void **sums);

// Kernels of our own for small networks of plain numbers (cuda/small.cu); all tensors are contiguous f32 on one GPU.
// x · weightᵀ + bias. Known to autograd.
int shim_linear(const void *x, const void *weight, const void *bias, void **result);
// One step of Adam on at most eight parameters, with slopes given; `counts` have the number of the step before.
int shim_adam(void *const *values, void *const *slopes, void *const *means, void *const *squares, void *const *counts,
              int count, const void *rate);
// The backward pass from a result in which the slope is known, on any device.
int shim_backward_from(const void *result, const void *slope);

// The largest resident size of this process so far, from `getrusage`.
int shim_ram_peak(uint64_t *bytes);

// A TorchScript module without anything in it yet, to be given back with `shim_script_free`.
int shim_script_new(const char *name, void **module);
// Gives it a tensor under a name.
int shim_script_buffer(void *module, const char *name, const void *tensor);
// Gives it the module of a file under a name, in eval mode.
int shim_script_part(void *module, const char *name, const char *path);
// Gives it the methods of a source text, and sets it to eval mode.
int shim_script_define(void *module, const char *source);
// Writes it to a file.
int shim_script_save(void *module, const char *path);
void shim_script_free(void *module);

#ifdef __cplusplus
}
#endif

// The C face of NCCL, which adds up over GPUs. As in shim.h: 0, or 1 with a message in `shim_error()`.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How many bytes an id has.
#define SHIM_NCCL_ID 128

// As NCCL counts: 22809 is 2.28.9.
int shim_nccl_version(int *version);
// What the processes of a group have in common: one of them makes it, `SHIM_NCCL_ID` bytes, and gives it to all others.
int shim_nccl_id(uint8_t *id);
// Process `rank` of `size`, with the GPU `index`. All must call it; who has waited for `timeout_ms` fails.
int shim_nccl_join(const uint8_t *id, int rank, int size, int index, int64_t timeout_ms, void **group);
// `to` becomes the sum of `from` over all processes, on the current stream; both may be the same tensor. Does not wait for the
// result, and may be recorded.
int shim_nccl_sum(void *group, const void *from, const void *to);
// Fails where something went wrong meanwhile, such as a peer that is gone. From any thread.
int shim_nccl_trouble(void *group);
// Recordings with a sum in them must be gone.
void shim_nccl_close(void *group);

// The 16 bytes that tell this GPU from all others, whatever its number is here.
int shim_gpu_uuid(int index, uint8_t *uuid);

#ifdef __cplusplus
}
#endif

// The C face of libtorch's process groups (c10d). As in shim.h: 0, or 1 with a message in `shim_error()`.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Names with values that several processes share over TCP. With `serve` it is kept here (port 0: any that is free), else
// connected to; `port` is where it is.
int shim_store_open(const char *host, int *port, int serve, int64_t timeout_ms, void **store);
int shim_store_set(void *store, const char *key, const uint8_t *value, int64_t count);
// A tensor of bytes (owned by the caller), once the key has a value; a failure after `timeout_ms`.
int shim_store_get(void *store, const char *key, int64_t timeout_ms, void **result);
int shim_store_has(void *store, const char *key, int *answer);
void shim_store_close(void *store);

// Process `rank` of `size`, connected to all others through Gloo. Every operation waits at most `timeout_ms`. `address`: of
// this machine, or null for what its name stands for.
int shim_group_open(void *store, const char *prefix, int rank, int size, const char *address, int64_t timeout_ms,
                    void **group);
// Each element becomes the sum over all processes. On the CPU, contiguous, as below.
int shim_group_sum(void *group, const void *tensor);
int shim_group_broadcast(void *group, const void *tensor, int root);
// `results` are `size` tensors like `tensor`: that of process 0, of process 1, …
int shim_group_gather(void *group, const void *tensor, void *const *results, int size);
int shim_group_barrier(void *group);
void shim_group_close(void *group);

// Ends the process at once: no destructor runs, for that of a group whose peers are gone may wait for ever.
void shim_leave(int code);

#ifdef __cplusplus
}
#endif

#pragma once

// The kernel `look`, as one block of a CPU. The pointers are those of the kernel.
void look_on_cpu(void *pixels, void *places, void *how, void *slope, void *shift, void *out, int in_bf16, int batch,
                 int channels, int size);

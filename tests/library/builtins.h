// What nvcc has without any header and clang only with CUDA's own, as far as the library needs it.
#pragma once

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))

#include <__clang_cuda_builtin_vars.h>

inline __device__ void __syncwarp() { __nvvm_bar_warp_sync(~0u); }

// Values of 4 bytes as they are, of 8 bytes in halves.
#define SHUFFLE(NAME, KIND, LAST)                                                                  \
    template <typename T>                                                                          \
    __device__ T NAME(unsigned mask, T value, int by, int width = 32)                              \
    {                                                                                              \
        int words[sizeof(T) / 4];                                                                  \
        __builtin_memcpy(words, &value, sizeof value);                                             \
        for (int &word : words)                                                                    \
            word = __nvvm_shfl_sync_##KIND##_i32(mask, word, by, (32 - width) << 8 | LAST);        \
        __builtin_memcpy(&value, words, sizeof value);                                             \
        return value;                                                                              \
    }

SHUFFLE(__shfl_sync, idx, 31)
SHUFFLE(__shfl_up_sync, up, 0)
SHUFFLE(__shfl_down_sync, down, 31)

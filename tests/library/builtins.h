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
SHUFFLE(__shfl_xor_sync, bfly, 31)

inline __device__ unsigned __ballot_sync(unsigned mask, bool holds)
{
    return __nvvm_vote_ballot_sync(mask, holds);
}
inline __device__ int __all_sync(unsigned mask, bool holds) { return __nvvm_vote_all_sync(mask, holds); }
inline __device__ int __any_sync(unsigned mask, bool holds) { return __nvvm_vote_any_sync(mask, holds); }
inline __device__ int __popc(unsigned bits) { return __builtin_popcount(bits); }

#if __CUDA_ARCH__ >= 800
#define REDUX(NAME, TYPE, KIND)                                                                    \
    inline __device__ TYPE NAME(unsigned mask, TYPE value)                                         \
    {                                                                                              \
        return __nvvm_redux_sync_##KIND(value, mask);                                              \
    }

REDUX(__reduce_add_sync, unsigned, add)
REDUX(__reduce_add_sync, int, add)
REDUX(__reduce_min_sync, unsigned, umin)
REDUX(__reduce_min_sync, int, min)
REDUX(__reduce_max_sync, unsigned, umax)
REDUX(__reduce_max_sync, int, max)
REDUX(__reduce_and_sync, unsigned, and)
REDUX(__reduce_or_sync, unsigned, or)
REDUX(__reduce_xor_sync, unsigned, xor)
#endif

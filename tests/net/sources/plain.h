// What the sources in plain/ need to be compiled by nvcc, by NVRTC and by clang without any of the
// toolkit's headers: nvcc and NVRTC know the words, for clang they are written here.
#pragma once
#if defined(__clang__) && defined(__CUDA__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#include <__clang_cuda_builtin_vars.h>
#elif !defined(__CUDACC_RTC__)
#include <cuda_runtime.h>
#endif

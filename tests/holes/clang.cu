// What clang makes of holes, without any header of CUDA: structs of 5 words.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __forceinline__ inline __attribute__((always_inline))
#include "ptxasw/hole.cuh"

constexpr int S = 5;

__global__ void specification(const unsigned *x, unsigned *y) {
    unsigned lane = __nvvm_read_ptx_sreg_tid_x();
    for (int r = 0; r < S; ++r)
        y[32 * r + lane] = x[S * lane + r];
}

__global__ void transpose(const unsigned *x, unsigned *y) {
    unsigned lane = __nvvm_read_ptx_sreg_tid_x() % 32;
    unsigned a[S], b[S], c[S];
#pragma unroll
    for (int r = 0; r < S; ++r)
        a[r] = x[32 * r + lane];
#pragma unroll
    for (int r = 0; r < S; ++r)
        b[r] = ptxasw_select(a, ptxasw_xform(0, r, S, lane, 32));
#pragma unroll
    for (int r = 0; r < S; ++r)
        c[r] = __nvvm_shfl_sync_idx_i32(~0u, b[r], ptxasw_xform(1, lane, 32, r, S), 31);
#pragma unroll
    for (int r = 0; r < S; ++r)
        y[32 * r + lane] = ptxasw_select(c, ptxasw_xform(2, r, S, lane, 32));
}

PTXASW_SPEC(transpose, specification)

// Structs of 7 words: loads are coalesced, and each lane ends with the words of its own struct.
#include "ptxasw/hole.cuh"

constexpr int S = 7;

__global__ void specification(const unsigned *x, unsigned *y) {
    for (int r = 0; r < S; ++r)
        y[32 * r + threadIdx.x] = x[S * threadIdx.x + r];
}

__global__ void transpose(const unsigned *x, unsigned *y) {
    unsigned lane = threadIdx.x % 32;
    unsigned a[S], b[S], c[S];
#pragma unroll
    for (int r = 0; r < S; ++r)
        a[r] = x[32 * r + lane];
#pragma unroll
    for (int r = 0; r < S; ++r)
        b[r] = ptxasw_select(a, ptxasw_xform(0, r, S, lane, 32));
#pragma unroll
    for (int r = 0; r < S; ++r)
        c[r] = __shfl_sync(~0u, b[r], ptxasw_xform(1, lane, 32, r, S));
#pragma unroll
    for (int r = 0; r < S; ++r)
        y[32 * r + lane] = ptxasw_select(c, ptxasw_xform(2, r, S, lane, 32));
}

PTXASW_SPEC(transpose, specification)

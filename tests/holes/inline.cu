// Holes in inline PTX, called with registers: lanes in reverse.
#include "ptxasw/hole.cuh"

__global__ void specification(const unsigned *x, unsigned *y) {
    y[threadIdx.x] = x[31 - threadIdx.x];
}

__global__ void reverse(const unsigned *x, unsigned *y) {
    unsigned lane = threadIdx.x % 32, from;
    asm("call (%0), ptxasw_xform, (0, %1, 32, 0, 1);" : "=r"(from) : "r"(lane));
    y[lane] = __shfl_sync(~0u, x[lane], from);
}

PTXASW_SPEC(reverse, specification)

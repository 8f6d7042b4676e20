// A hole that cannot be filled: the value of another warp's lane comes from nowhere.
#include "ptxasw/hole.cuh"

__global__ void specification(const unsigned *x, unsigned *y) {
    y[threadIdx.x] = x[threadIdx.x + 1];
}

__global__ void shifted(const unsigned *x, unsigned *y) {
    unsigned lane = threadIdx.x % 32;
    y[lane] = __shfl_sync(~0u, x[lane], ptxasw_xform(0, lane, 32, 0, 1));
}

PTXASW_SPEC(shifted, specification)

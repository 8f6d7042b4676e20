// The inclusive sum of a warp in 5 steps: from which lane a step takes its value, and which lanes add it.
#include "ptxasw/hole.cuh"

__global__ void specification(const int *x, int *y) {
    int sum = 0;
    for (int i = 0; i <= (int)threadIdx.x; ++i)
        sum += x[i];
    y[threadIdx.x] = sum;
}

__global__ void scan(const int *x, int *y) {
    unsigned lane = threadIdx.x % 32;
    int sum = x[lane];
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        int other = __shfl_sync(~0u, sum, ptxasw_xform(0, lane, 32, distance, 32));
        sum = ptxasw_cond(1, lane, distance) ? other + sum : sum;
    }
    y[lane] = sum;
}

PTXASW_SPEC(scan, specification)

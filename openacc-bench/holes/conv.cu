// A convolution of 5 points by a register cache: the window of a warp in two registers of each lane.
#include "ptxasw/hole.cuh"

constexpr int K = 5;

__global__ void specification(const float *x, const float *w, float *y) {
    float sum = 0;
    for (int k = 0; k < K; ++k)
        sum += w[k] * x[threadIdx.x + k];
    y[threadIdx.x] = sum;
}

__global__ void convolve(const float *x, const float *w, float *y) {
    unsigned lane = threadIdx.x % 32;
    float a[2] = {x[lane], lane < K - 1 ? x[32 + lane] : 0};
    float sum = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        float mine = ptxasw_select(a, ptxasw_part(0, lane, k, 2));
        float theirs = __shfl_sync(~0u, mine, ptxasw_xform(1, lane, 32, k, K));
        sum = ptxasw_cond(2, lane, k) ? sum + w[k] * theirs : sum;
    }
    y[lane] = sum;
}

PTXASW_SPEC(convolve, specification)

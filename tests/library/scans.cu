// Scans and reductions of a warp and of a block, with an operator that is associative and nothing else.
#include "ptxasw/library.cuh"

#ifndef LANE
#define LANE int(threadIdx.x & 31)
#endif

// x -> a * x + b; the product is the first one, then the second one.
struct Affine {
    unsigned a, b;
};

struct Then {
    __device__ Affine operator()(const Affine &f, const Affine &g) const
    {
        return Affine{f.a * g.a, g.a * f.b + g.b};
    }
};

extern "C" __global__ void warps(const Affine *x, const int *head, const int *tail, Affine *y, int lanes)
{
    const Affine own = x[LANE];
    y[LANE] = ptxasw::warp_scan(own, Then(), LANE);
    const Affine product = ptxasw::warp_reduce(own, Then(), LANE, lanes);
    if (LANE == 0)
        y[32] = product;
    y[64 + LANE] = ptxasw::warp_scan_exclusive(own, Then(), LANE);
    y[96 + LANE] = ptxasw::warp_scan_backward(own, Then(), LANE);
    y[128 + LANE] = ptxasw::warp_scan_segmented(own, Then(), LANE, head[LANE]);
    y[160 + LANE] = ptxasw::warp_scan_segmented_backward(own, Then(), LANE, tail[LANE]);
}

extern "C" __global__ void blocks(const Affine *x, Affine *y)
{
    __shared__ Affine totals[32];
    const int own = threadIdx.x, all = blockDim.x;
    y[own] = ptxasw::block_scan(x[own], Then(), totals);
    __syncthreads();
    y[all + own] = ptxasw::block_prefix(x[own], Then(), totals, Affine{1, 0});
    __syncthreads();
    const Affine product = ptxasw::block_reduce(x[own], Then(), totals);
    if (own == 0)
        y[2 * all] = product;
}

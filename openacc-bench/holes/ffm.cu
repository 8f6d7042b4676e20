// Products of polynomials of 32 coefficients over GF(2), one coefficient of each factor in a lane and 32 pairs of
// factors in the bits of a word; a lane ends with two of the 64 coefficients.
#include "ptxasw/hole.cuh"

__global__ void specification(const unsigned *x, const unsigned *y, unsigned *z) {
    unsigned lane = threadIdx.x, low = 0, high = 0;
    for (unsigned k = 0; k < 32; ++k) {
        unsigned product = x[k] & y[(lane - k) % 32];
        if (k <= lane)
            low ^= product;
        else
            high ^= product;
    }
    z[lane] = low;
    z[32 + lane] = high;
}

__global__ void multiply(const unsigned *x, const unsigned *y, unsigned *z) {
    unsigned lane = threadIdx.x % 32, a = x[lane], b = y[lane], low = 0, high = 0;
#pragma unroll
    for (unsigned k = 0; k < 32; ++k) {
        unsigned s = __shfl_sync(~0u, a, ptxasw_xform(0, lane, 32, k, 32));
        unsigned t = __shfl_sync(~0u, b, ptxasw_xform(1, lane, 32, k, 32));
        low = ptxasw_cond(2, lane, k) ? low ^ s & t : low;
        high = ptxasw_cond(3, lane, k) ? high ^ s & t : high;
    }
    z[lane] = low;
    z[32 + lane] = high;
}

PTXASW_SPEC(multiply, specification)

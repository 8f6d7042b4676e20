// Every collective in one kernel: a row of results each. With `BY_SHUFFLES`, conditions are combined as numbers by
// shuffles.
#include "ptxasw/library.cuh"

// (A proof for blocks of all shapes needs the lane itself, not a thread's index.)
__device__ inline int own_lane()
{
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

#ifdef BY_SHUFFLES
struct Plus {
    __device__ int operator()(int a, int b) const { return a + b; }
};
struct Both {
    __device__ int operator()(int a, int b) const { return a & b; }
};
struct Either {
    __device__ int operator()(int a, int b) const { return a | b; }
};
#define ALL(C) ptxasw::synth::over_the_warp((C) ? 1 : 0, Both())
#define ANY(C) ptxasw::synth::over_the_warp((C) ? 1 : 0, Either())
#define COUNT(C) ptxasw::synth::over_the_warp((C) ? 1 : 0, Plus())
#define COUNT_BEFORE(C) (ptxasw::warp_scan((C) ? 1 : 0, Plus(), own_lane()) - ((C) ? 1 : 0))
#else
#define ALL(C) ptxasw::warp_all(C)
#define ANY(C) ptxasw::warp_any(C)
#define COUNT(C) ptxasw::warp_count(C)
#define COUNT_BEFORE(C) ptxasw::warp_count_before(C, own_lane())
#endif

extern "C" __global__ void numbers(const unsigned *x, unsigned *y)
{
    const unsigned own = x[own_lane()];
    y[own_lane()] = ptxasw::warp_sum(own);
    y[32 + own_lane()] = ptxasw::warp_sum(int(own));
    y[64 + own_lane()] = ptxasw::warp_min(own);
    y[96 + own_lane()] = ptxasw::warp_min(int(own));
    y[128 + own_lane()] = ptxasw::warp_max(own);
    y[160 + own_lane()] = ptxasw::warp_max(int(own));
    y[192 + own_lane()] = ptxasw::warp_and(own);
    y[224 + own_lane()] = ptxasw::warp_or(own);
    y[256 + own_lane()] = ptxasw::warp_xor(own);
}

extern "C" __global__ void conditions(const unsigned *x, unsigned *y, unsigned least)
{
    const bool own = x[own_lane()] >= least;
    y[own_lane()] = ALL(own);
    y[32 + own_lane()] = ANY(own);
    y[64 + own_lane()] = COUNT(own);
    y[96 + own_lane()] = COUNT_BEFORE(own);
}

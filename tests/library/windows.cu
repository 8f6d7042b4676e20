// Windows of every radius by one warp: all of each, and what is folded of it.
#include "ptxasw/library.cuh"

#ifndef LANE
#define LANE int(threadIdx.x & 31)
#endif

#define WINDOWS(R, T, NAME)                                                                        \
    extern "C" __global__ void windows_##NAME##_##R(const T *x, const T *w, T *taps, T *folds,     \
        int count)                                                                                 \
    {                                                                                              \
        T row[2], own[2 * R + 1], y;                                                               \
        if (count < 0)                                                                             \
            ptxasw::window##R##_load_row(row, x, LANE);                                            \
        else                                                                                       \
            ptxasw::load_row<R>(row, x, LANE, count);                                              \
        ptxasw::window##R(own, row, LANE);                                                         \
        for (int k = 0; k <= 2 * R; ++k)                                                           \
            taps[32 * k + LANE] = own[k];                                                          \
        ptxasw::convolve##R(y, row, w, LANE);                                                      \
        folds[LANE] = y;                                                                           \
        ptxasw::window_sum##R(y, row, LANE);                                                       \
        folds[32 + LANE] = y;                                                                      \
        ptxasw::window_max##R(y, row, LANE);                                                       \
        folds[64 + LANE] = y;                                                                      \
        ptxasw::window_min##R(y, row, LANE);                                                       \
        folds[96 + LANE] = y;                                                                      \
    }

#define RADII(T, NAME)                                                                             \
    WINDOWS(1, T, NAME) WINDOWS(2, T, NAME) WINDOWS(3, T, NAME) WINDOWS(4, T, NAME)                \
    WINDOWS(5, T, NAME) WINDOWS(6, T, NAME) WINDOWS(7, T, NAME) WINDOWS(8, T, NAME)

RADII(float, f32)
#ifndef ONE_WIDTH
RADII(double, f64)
RADII(int, s32)
#endif

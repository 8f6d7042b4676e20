// stencil2d by ptxasw synth, K = 5, W = 4, R = 2, C = 5
//   line   9  ?part(lane_y, p; 0, 1, 5, C)  (lane_y >= p ? 0 : 1)
//   line  10  ?xform(lane_y; p)             (lane_y + p) & 3
//   line  11  ?part(lane_x, q; 0, 1, 5, C)  (lane_x >= q ? 0 : 1)
//   line  12  ?xform(lane_x; q)             (lane_x + q) & 3
#pragma once

#ifndef PTXASW_SYNTH
#define PTXASW_SYNTH
namespace synth {

// The value that a lane of a group of LANES lanes has.
template <int LANES, typename T>
__device__ __forceinline__ T shuffle(T value, int lane)
{
    return __shfl_sync(0xffffffffu, value, lane, LANES);
}

// Turns a row of registers: each becomes what was `by` places further on, in one round of selects for each bit of
// MOST, the most that `by` is.
template <int MOST, int N, typename T>
__device__ __forceinline__ void turn(T (&row)[N], int by)
{
#pragma unroll
    for (int step = 1; step <= MOST; step *= 2) {
        T old[N];
#pragma unroll
        for (int i = 0; i < N; ++i)
            old[i] = row[i];
#pragma unroll
        for (int i = 0; i < N; ++i)
            row[i] = by & step ? old[(i + step) % N] : old[i];
    }
}

// What is folded where the sketch says `*`.
struct Times {
    template <typename T>
    __device__ __forceinline__ T operator()(T a, T b) const { return a * b; }
};

}
#endif

// Loads `a` of each lane.
template <typename T>
__device__ __forceinline__ void stencil2d_load_a(T (&a)[2][2], const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane_y = (lane_of_warp & 15) / 4;
    [[maybe_unused]] const int lane_x = (lane_of_warp & 15) % 4;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            a[row][column] = x[(4 * row + lane_y) * 9 + (4 * column + lane_x)];
        }
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T>
__device__ __forceinline__ void stencil2d(T &y, const T (&a)[2][2], int lane_of_warp)
{
    [[maybe_unused]] const int lane_y = (lane_of_warp & 15) / 4;
    [[maybe_unused]] const int lane_x = (lane_of_warp & 15) % 4;
    bool y_begun_ = false;
    {
        y = T();
    }
#pragma unroll
    for (int p = 0; p < 5; ++p) {
        T b[2];
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            b[column] = (lane_y >= p ? a[0][column] : a[1][column]);
        }
        T c[2];
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            c[column] = (p == 0 || p == 4 ? b[column] : synth::shuffle<16>(b[column], ((lane_y + p) & 3) * 4 + lane_x));
        }
        T d[5];
#pragma unroll
        for (int q = 0; q < 5; ++q) {
            d[q] = (lane_x >= q ? c[0] : c[1]);
        }
        T e[5];
#pragma unroll
        for (int q = 0; q < 5; ++q) {
            e[q] = (q == 0 || q == 4 ? d[q] : synth::shuffle<16>(d[q], lane_y * 4 + ((lane_x + q) & 3)));
        }
        {
#pragma unroll
            for (int q = 0; q < 5; ++q) {
                const T value_ = e[q];
                y = y_begun_ ? (y + value_) : value_;
                y_begun_ = true;
            }
        }
    }
}

// Stores `y`: register `r` of lane `l` at `16 * r + l`.
template <typename T>
__device__ __forceinline__ void stencil2d_store_y(T *to_, const T &y, int lane_of_warp)
{
    if (lane_of_warp >= 16)
        return;
    {
        to_[lane_of_warp] = y;
    }
}

// All of it, by one warp.
template <typename T>
__device__ __forceinline__ void stencil2d_warp(const T *x, T *y_to_, int lane_of_warp)
{
    T a[2][2];
    stencil2d_load_a(a, x, lane_of_warp);
    T y;
    stencil2d(y, a, lane_of_warp);
    stencil2d_store_y(y_to_, y, lane_of_warp);
}

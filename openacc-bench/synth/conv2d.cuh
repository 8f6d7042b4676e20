// conv2d by ptxasw synth, K = 3, W = 4, R = 2, C = 5
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
__device__ __forceinline__ void conv2d_load_a(T (&a)[2][2], const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane_y = (lane_of_warp & 15) / 4;
    [[maybe_unused]] const int lane_x = (lane_of_warp & 15) % 4;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            a[row][column] = ((4 * row + lane_y < 7) & (4 * column + lane_x < 7) ? x[(4 * row + lane_y) * 7 + (4 * column + lane_x)] : T());
        }
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void conv2d(T &y, const T (&a)[2][2], const T *w, int lane_of_warp, P product = P())
{
    [[maybe_unused]] const int lane_y = (lane_of_warp & 15) / 4;
    [[maybe_unused]] const int lane_x = (lane_of_warp & 15) % 4;
    T b[2][3];
#pragma unroll
    for (int column = 0; column < 2; ++column) {
#pragma unroll
        for (int p = 0; p < 3; ++p) {
            b[column][p] = (lane_y >= p ? a[0][column] : a[1][column]);
        }
    }
    T c[2][3];
#pragma unroll
    for (int column = 0; column < 2; ++column) {
#pragma unroll
        for (int p = 0; p < 3; ++p) {
            c[column][p] = (p == 0 ? b[column][p] : synth::shuffle<16>(b[column][p], ((lane_y + p) & 3) * 4 + lane_x));
        }
    }
    T d[3][3];
#pragma unroll
    for (int p = 0; p < 3; ++p) {
#pragma unroll
        for (int q = 0; q < 3; ++q) {
            d[p][q] = (lane_x >= q ? c[0][p] : c[1][p]);
        }
    }
    T e[3][3];
#pragma unroll
    for (int p = 0; p < 3; ++p) {
#pragma unroll
        for (int q = 0; q < 3; ++q) {
            e[p][q] = (q == 0 ? d[p][q] : synth::shuffle<16>(d[p][q], lane_y * 4 + ((lane_x + q) & 3)));
        }
    }
    {
        T sum_ = T();
        bool begun_ = false;
#pragma unroll
        for (int p = 0; p < 3; ++p) {
#pragma unroll
            for (int q = 0; q < 3; ++q) {
                const T value_ = product(w[p * 3 + q], e[p][q]);
                sum_ = begun_ ? (sum_ + value_) : value_;
                begun_ = true;
            }
        }
        y = sum_;
    }
}

// Stores `y`: register `r` of lane `l` at `16 * r + l`.
template <typename T>
__device__ __forceinline__ void conv2d_store_y(T *to_, const T &y, int lane_of_warp)
{
    if (lane_of_warp >= 16)
        return;
    {
        to_[lane_of_warp] = y;
    }
}

// All of it, by one warp.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void conv2d_warp(const T *x, const T *w, T *y_to_, int lane_of_warp, P product = P())
{
    T a[2][2];
    conv2d_load_a(a, x, lane_of_warp);
    T y;
    conv2d(y, a, w, lane_of_warp, product);
    conv2d_store_y(y_to_, y, lane_of_warp);
}

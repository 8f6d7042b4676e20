// sum by ptxasw synth, S = 7
//   line   6  ?xform(reg; lane)  (reg * 2 - lane * 2) % 7
//   line   7  ?xform(lane; reg)  (lane * 7 + reg) & 31
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
__device__ __forceinline__ void sum_load_a(T (&a)[7], const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
#pragma unroll
    for (int reg = 0; reg < 7; ++reg) {
        a[reg] = x[32 * reg + lane];
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T>
__device__ __forceinline__ void sum(T &y, const T (&a)[7], int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
    T b[7];
    {
        T row_[7];
#pragma unroll
        for (int i_ = 0; i_ < 7; ++i_) {
            row_[i_] = a[i_];
        }
        synth::turn<6>(row_, (0 - lane * 2 + 63) % 7);
#pragma unroll
        for (int reg = 0; reg < 7; ++reg) {
            b[reg] = row_[reg * 2 % 7];
        }
    }
    T c[7];
#pragma unroll
    for (int reg = 0; reg < 7; ++reg) {
        c[reg] = synth::shuffle<32>(b[reg], (lane * 7 + reg) & 31);
    }
    {
        T sum_ = T();
        bool begun_ = false;
#pragma unroll
        for (int reg = 0; reg < 7; ++reg) {
            const T value_ = c[reg];
            sum_ = begun_ ? (sum_ + value_) : value_;
            begun_ = true;
        }
        y = sum_;
    }
}

// Stores `y`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void sum_store_y(T *to_, const T &y, int lane_of_warp)
{
    {
        to_[lane_of_warp] = y;
    }
}

// All of it, by one warp.
template <typename T>
__device__ __forceinline__ void sum_warp(const T *x, T *y_to_, int lane_of_warp)
{
    T a[7];
    sum_load_a(a, x, lane_of_warp);
    T y;
    sum(y, a, lane_of_warp);
    sum_store_y(y_to_, y, lane_of_warp);
}

// stencil by ptxasw synth, K = 9
//   line   6  ?part(lane, k)   (lane >= k ? 0 : 1)
//   line   7  ?xform(lane; k)  (lane + k) & 31
//   line   8  ?cond(lane, k)   1
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
__device__ __forceinline__ void stencil_load_a(T (&a)[2], const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
#pragma unroll
    for (int reg = 0; reg < 2; ++reg) {
        a[reg] = (32 * reg + lane < 41 ? x[32 * reg + lane] : T());
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T>
__device__ __forceinline__ void stencil(T &y, const T (&a)[2], int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
    T s[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        s[k] = (lane >= k ? a[0] : a[1]);
    }
    T r[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        r[k] = (k == 0 ? s[k] : synth::shuffle<32>(s[k], (lane + k) & 31));
    }
    {
        T sum_ = T();
        bool begun_ = false;
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            const T value_ = r[k];
            sum_ = begun_ ? (sum_ + value_) : value_;
            begun_ = true;
        }
        y = sum_;
    }
}

// Stores `y`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void stencil_store_y(T *to_, const T &y, int lane_of_warp)
{
    {
        to_[lane_of_warp] = y;
    }
}

// All of it, by one warp.
template <typename T>
__device__ __forceinline__ void stencil_warp(const T *x, T *y_to_, int lane_of_warp)
{
    T a[2];
    stencil_load_a(a, x, lane_of_warp);
    T y;
    stencil(y, a, lane_of_warp);
    stencil_store_y(y_to_, y, lane_of_warp);
}

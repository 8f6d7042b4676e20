// ffm by ptxasw synth, W = 32
//   line   8  ?xform(lane; k)  k
//   line   9  ?xform(lane; k)  (lane - k) & 31
//   line  10  ?cond(lane, k)   lane >= k
//   line  11  ?cond(lane, k)   lane < k
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
__device__ __forceinline__ void ffm_load_a(T &a, const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
    {
        a = x[lane];
    }
}

// Loads `b` of each lane.
template <typename T>
__device__ __forceinline__ void ffm_load_b(T &b, const T *y, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
    {
        b = y[lane];
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void ffm(T &low, T &high, const T &a, const T &b, int lane_of_warp, P product = P())
{
    [[maybe_unused]] const int lane = lane_of_warp;
    {
        low = T();
    }
    {
        high = T();
    }
#pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        T s;
        {
            s = synth::shuffle<32>(a, k);
        }
        T t;
        {
            t = (k == 0 ? b : synth::shuffle<32>(b, (lane - k) & 31));
        }
        {
            {
                if (lane >= k) {
                    const T value_ = product(s, t);
                    low = low ^ value_;
                }
            }
        }
        {
            {
                if (lane < k) {
                    const T value_ = product(s, t);
                    high = high ^ value_;
                }
            }
        }
    }
}

// Stores `low`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void ffm_store_low(T *to_, const T &low, int lane_of_warp)
{
    {
        to_[lane_of_warp] = low;
    }
}

// Stores `high`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void ffm_store_high(T *to_, const T &high, int lane_of_warp)
{
    {
        to_[lane_of_warp] = high;
    }
}

// All of it, by one warp.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void ffm_warp(const T *x, const T *y, T *low_to_, T *high_to_, int lane_of_warp, P product = P())
{
    T a;
    ffm_load_a(a, x, lane_of_warp);
    T b;
    ffm_load_b(b, y, lane_of_warp);
    T low;
    T high;
    ffm(low, high, a, b, lane_of_warp, product);
    ffm_store_low(low_to_, low, lane_of_warp);
    ffm_store_high(high_to_, high, lane_of_warp);
}

// ffmblocks by ptxasw synth, W = 32, R = 12
//   line  11  ?xform(lane; k)          k
//   line  12  ?part(lane, k; 0, 1, W)  (lane < 32 - k ? 0 : 1)
//   line  13  ?xform(lane; k)          (lane - k) & 31
//   line  14  ?cond(lane, k)           lane >= k
//   line  15  ?cond(lane, k)           lane < k
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
__device__ __forceinline__ void ffm384_load_a(T (&a)[12], const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
#pragma unroll
    for (int r = 0; r < 12; ++r) {
        a[r] = x[32 * r + lane];
    }
}

// Loads `b` of each lane.
template <typename T>
__device__ __forceinline__ void ffm384_load_b(T (&b)[12], const T *y, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
#pragma unroll
    for (int r = 0; r < 12; ++r) {
        b[r] = y[32 * r + lane];
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void ffm384(T (&low)[12], T (&high)[12], const T (&a)[12], const T (&b)[12], int lane_of_warp, P product = P())
{
    [[maybe_unused]] const int lane = lane_of_warp;
    T q[12][2];
#pragma unroll
    for (int r = 0; r < 12; ++r) {
#pragma unroll
        for (int back = 0; back < 2; ++back) {
            q[r][back] = b[(r - back + 12) % 12];
        }
    }
#pragma unroll
    for (int own = 0; own < 12; ++own) {
        low[own] = T();
    }
#pragma unroll
    for (int own = 0; own < 12; ++own) {
        high[own] = T();
    }
#pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        T s[12];
#pragma unroll
        for (int r = 0; r < 12; ++r) {
            s[r] = synth::shuffle<32>(a[r], k);
        }
        T p[12];
#pragma unroll
        for (int r = 0; r < 12; ++r) {
            p[r] = (lane < 32 - k ? q[r][0] : q[r][1]);
        }
        T t[12];
#pragma unroll
        for (int r = 0; r < 12; ++r) {
            t[r] = (k == 0 ? p[r] : synth::shuffle<32>(p[r], (lane - k) & 31));
        }
#pragma unroll
        for (int own = 0; own < 12; ++own) {
#pragma unroll
            for (int r = 0; r < 12; ++r) {
                if ((r == own) & (lane >= k)) {
                    const T value_ = product(s[r], t[0]);
                    low[own] = low[own] ^ value_;
                }
            }
#pragma unroll
            for (int r = 0; r < 12; ++r) {
                if (r < own) {
                    const T value_ = product(s[r], t[(own - r + 12) % 12]);
                    low[own] = low[own] ^ value_;
                }
            }
        }
#pragma unroll
        for (int own = 0; own < 12; ++own) {
#pragma unroll
            for (int r = 0; r < 12; ++r) {
                if ((r == own) & (lane < k)) {
                    const T value_ = product(s[r], t[0]);
                    high[own] = high[own] ^ value_;
                }
            }
#pragma unroll
            for (int r = 0; r < 12; ++r) {
                if (r > own) {
                    const T value_ = product(s[r], t[(own - r + 12) % 12]);
                    high[own] = high[own] ^ value_;
                }
            }
        }
    }
}

// Stores `low`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void ffm384_store_low(T *to_, const T (&low)[12], int lane_of_warp)
{
#pragma unroll
    for (int r0_ = 0; r0_ < 12; ++r0_) {
        to_[32 * r0_ + lane_of_warp] = low[r0_];
    }
}

// Stores `high`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void ffm384_store_high(T *to_, const T (&high)[12], int lane_of_warp)
{
#pragma unroll
    for (int r0_ = 0; r0_ < 12; ++r0_) {
        to_[32 * r0_ + lane_of_warp] = high[r0_];
    }
}

// All of it, by one warp.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void ffm384_warp(const T *x, const T *y, T *low_to_, T *high_to_, int lane_of_warp, P product = P())
{
    T a[12];
    ffm384_load_a(a, x, lane_of_warp);
    T b[12];
    ffm384_load_b(b, y, lane_of_warp);
    T low[12];
    T high[12];
    ffm384(low, high, a, b, lane_of_warp, product);
    ffm384_store_low(low_to_, low, lane_of_warp);
    ffm384_store_high(high_to_, high, lane_of_warp);
}

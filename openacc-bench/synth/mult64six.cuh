// mult64six by ptxasw synth, W = 32
//   line   8  ?xform(lane; k)          k
//   line   9  ?part(lane, k; 0, 1, W)  (lane < 32 - k ? 0 : 1)
//   line  10  ?xform(lane; k)          (lane - k) & 31
//   line  11  ?cond(lane, k)           lane >= k
//   line  12  ?xform(lane; k)          k
//   line  13  ?cond(lane, k)           lane < k
//   line  14  ?part(lane, k; 0, 1, W)  (lane >= 32 - k ? 0 : 1)
//   line  15  ?xform(lane; k)          (lane - k) & 31
//   line  16  ?cond(lane, k)           lane >= k
//   line  17  ?cond(lane, k)           lane < k
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
__device__ __forceinline__ void mult64six_load_a(T (&a)[2], const T *x, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        a[half] = x[32 * half + lane];
    }
}

// Loads `b` of each lane.
template <typename T>
__device__ __forceinline__ void mult64six_load_b(T (&b)[2], const T *y, int lane_of_warp)
{
    [[maybe_unused]] const int lane = lane_of_warp;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        b[half] = y[32 * half + lane];
    }
}

// From what was loaded to what the goals ask for; all lanes of the warp take part.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void mult64six(T &c0, T &c1, T &c2, T &c3, const T (&a)[2], const T (&b)[2], int lane_of_warp, P product = P())
{
    [[maybe_unused]] const int lane = lane_of_warp;
    {
        c0 = T();
    }
    {
        c3 = T();
    }
    bool c1_begun_ = false;
    {
        c1 = T();
    }
    bool c2_begun_ = false;
    {
        c2 = T();
    }
#pragma unroll
    for (int k = 0; k < 32; ++k) {
        T s0;
        {
            s0 = synth::shuffle<32>(a[0], k);
        }
        T p;
        {
            p = (lane < 32 - k ? b[0] : b[1]);
        }
        T t;
        {
            t = (k == 0 ? p : synth::shuffle<32>(p, (lane - k) & 31));
        }
        {
            {
                if (lane >= k) {
                    const T value_ = product(s0, t);
                    c0 = c0 + value_;
                }
            }
        }
        T s1;
        {
            s1 = synth::shuffle<32>(a[1], k);
        }
        {
            {
                if (lane < k) {
                    const T value_ = product(s1, t);
                    c3 = c3 + value_;
                }
            }
        }
        T q;
        {
            q = (lane >= 32 - k ? b[0] : b[1]);
        }
        T u;
        {
            u = (k == 0 ? q : synth::shuffle<32>(q, (lane - k) & 31));
        }
        {
            {
                const T value_ = product(s0, u);
                c1 = c1_begun_ ? (c1 + value_) : value_;
                c1_begun_ = true;
            }
            {
                if (lane >= k) {
                    const T value_ = product(s1, t);
                    c1 = c1_begun_ ? (c1 + value_) : value_;
                    c1_begun_ = true;
                }
            }
        }
        {
            {
                const T value_ = product(s1, u);
                c2 = c2_begun_ ? (c2 + value_) : value_;
                c2_begun_ = true;
            }
            {
                if (lane < k) {
                    const T value_ = product(s0, t);
                    c2 = c2_begun_ ? (c2 + value_) : value_;
                    c2_begun_ = true;
                }
            }
        }
    }
}

// Stores `c0`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void mult64six_store_c0(T *to_, const T &c0, int lane_of_warp)
{
    {
        to_[lane_of_warp] = c0;
    }
}

// Stores `c1`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void mult64six_store_c1(T *to_, const T &c1, int lane_of_warp)
{
    {
        to_[lane_of_warp] = c1;
    }
}

// Stores `c2`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void mult64six_store_c2(T *to_, const T &c2, int lane_of_warp)
{
    {
        to_[lane_of_warp] = c2;
    }
}

// Stores `c3`: register `r` of lane `l` at `32 * r + l`.
template <typename T>
__device__ __forceinline__ void mult64six_store_c3(T *to_, const T &c3, int lane_of_warp)
{
    {
        to_[lane_of_warp] = c3;
    }
}

// All of it, by one warp.
template <typename T, typename P = synth::Times>
__device__ __forceinline__ void mult64six_warp(const T *x, const T *y, T *c0_to_, T *c1_to_, T *c2_to_, T *c3_to_, int lane_of_warp, P product = P())
{
    T a[2];
    mult64six_load_a(a, x, lane_of_warp);
    T b[2];
    mult64six_load_b(b, y, lane_of_warp);
    T c0;
    T c1;
    T c2;
    T c3;
    mult64six(c0, c1, c2, c3, a, b, lane_of_warp, product);
    mult64six_store_c0(c0_to_, c0, lane_of_warp);
    mult64six_store_c1(c1_to_, c1, lane_of_warp);
    mult64six_store_c2(c2_to_, c2, lane_of_warp);
    mult64six_store_c3(c3_to_, c3, lane_of_warp);
}

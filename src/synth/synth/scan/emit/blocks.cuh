#ifndef PTXASW_SYNTH_SCAN
#define PTXASW_SYNTH_SCAN
namespace synth {

// The scan of a warp: the product of the values up to each lane.
SCAN
// The product of the values of a warp's first `lanes` lanes, in lane 0.
REDUCE
// The same two by the operator's own `prefixed` and `reduced`, if it has them.
template <typename T, typename Op>
__device__ __forceinline__ auto prefixed(T value, Op op, int lane, int) -> decltype(op.prefixed(value, lane))
{
    return op.prefixed(value, lane);
}

template <typename T, typename Op>
__device__ __forceinline__ T prefixed(T value, Op op, int lane, long)
{
    return warp_scan(value, op, lane);
}

template <typename T, typename Op>
__device__ __forceinline__ auto reduced(T value, Op op, int lane, int lanes, int)
    -> decltype(op.reduced(value, lane, lanes))
{
    return op.reduced(value, lane, lanes);
}

template <typename T, typename Op>
__device__ __forceinline__ T reduced(T value, Op op, int lane, int lanes, long)
{
    return warp_reduce(value, op, lane, lanes);
}

// Functions of a block: all threads of a one-dimensional block of any size call them together, and `totals` are 32
// elements of shared memory, which may be written again behind the next barrier.

// The scan of each warp; afterwards `totals` holds the product of everything up to each warp's end.
template <typename T, typename Op>
__device__ __forceinline__ T scanned(T value, Op op, T *totals)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warps = (blockDim.x + 31) / 32;
    value = prefixed(value, op, lane, 0);
    if (lane == 31 || threadIdx.x + 1 == blockDim.x)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        T total = totals[lane < warps ? lane : 0];
        total = prefixed(total, op, lane, 0);
        __syncwarp();
        if (lane < warps)
            totals[lane] = total;
    }
    __syncthreads();
    return value;
}

// The product of the values up to each thread.
template <typename T, typename Op>
__device__ __forceinline__ T block_scan(T value, Op op, T *totals)
{
    const int warp = threadIdx.x / 32;
    value = scanned(value, op, totals);
    return warp == 0 ? value : op(totals[warp - 1], value);
}

// The product of the values in front of each thread; `unit` is that of none.
template <typename T, typename Op>
__device__ __forceinline__ T block_prefix(T value, Op op, T *totals, T unit)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = moved_up(scanned(value, op, totals), 1);
    value = chosen(lane == 0, unit, value);
    return warp == 0 ? value : op(totals[warp - 1], value);
}

// The product of all values, in thread 0.
template <typename T, typename Op>
__device__ __forceinline__ T block_reduce(T value, Op op, T *totals)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warps = (blockDim.x + 31) / 32, rest = blockDim.x - 32 * warp;
    value = reduced(value, op, lane, rest < 32 ? rest : 32, 0);
    if (lane == 0)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0)
        value = reduced(totals[lane < warps ? lane : 0], op, lane, warps, 0);
    return value;
}

}
#endif

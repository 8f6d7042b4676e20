#ifndef PTXASW_SYNTH_SCAN
#define PTXASW_SYNTH_SCAN
namespace synth {

// The scan of a warp: the product of the values up to each lane.
SCAN
// The product of the values of a warp's first `lanes` lanes, in lane 0.
REDUCE
// Functions of a block: all threads of a one-dimensional block of any size call them together, and `totals` are 32
// elements of shared memory, which may be written again behind the next barrier.

// The scan of each warp; afterwards `totals` holds the product of everything up to each warp's end.
template <typename T, typename Op>
__device__ __forceinline__ T scanned(T value, Op op, T *totals)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warps = (blockDim.x + 31) / 32;
    value = warp_scan(value, op, lane);
    if (lane == 31 || threadIdx.x + 1 == blockDim.x)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        T total = totals[lane < warps ? lane : 0];
        total = warp_scan(total, op, lane);
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
    value = warp_reduce(value, op, lane, rest < 32 ? rest : 32);
    if (lane == 0)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0)
        value = warp_reduce(totals[lane < warps ? lane : 0], op, lane, warps);
    return value;
}

}
#endif

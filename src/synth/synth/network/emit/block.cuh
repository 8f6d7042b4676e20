
// All threads of a one-dimensional block of any size call it together; `totals` are 32 elements of shared memory.
template <typename T, typename Op>
__device__ __forceinline__ T NAME_block(T value, Op op, T *totals)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warps = (blockDim.x + 31) / 32;
    value = NAME(value, op, lane);
    if (lane == 31 || threadIdx.x + 1 == blockDim.x)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        T total = totals[lane < warps ? lane : 0];
        total = NAME(total, op, lane);
        __syncwarp();
        if (lane < warps)
            totals[lane] = total;
    }
    __syncthreads();
    return warp == 0 ? value : op(totals[warp - 1], value);
}

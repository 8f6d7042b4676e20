// CUB's block-wide algorithms.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

__global__ void sorted(int* out, const int* in) {
    using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, 128, 4>;
    using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_VECTORIZE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } storage;
    int items[4];
    Load(storage.load).Load(in + blockIdx.x * 512, items);
    __syncthreads();
    Sort(storage.sort).Sort(items);
    __syncthreads();
    Store(storage.store).Store(out + blockIdx.x * 512, items);
}
__global__ void scanned(float* out, const float* in, int n) {
    using Scan = cub::BlockScan<float, 256>;
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ typename Scan::TempStorage scan;
    __shared__ typename Reduce::TempStorage reduce;
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = in[i] + in[i + 1], y;
    Scan(scan).InclusiveSum(x, y);
    out[i] = y + Reduce(reduce).Sum(x, n);
}

// Asynchronous copies into shared memory: pipelines, barriers of libcu++.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

__global__ void staged(float* out, const float* in, int n) {
    __shared__ alignas(16) float buffer[2][256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&buffer[0][t], in + t, 4);
    __pipeline_commit();
    for (int k = 1; k < n; ++k) {
        __pipeline_memcpy_async(&buffer[k & 1][t], in + k * 256 + t, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[k * 256 + t] = buffer[(k - 1) & 1][t] + in[k * 256 + t] + in[k * 256 + t + 1];
        __syncthreads();
    }
}

__global__ void arrivals(float* out, const float* in) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ float data[128];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    cuda::memcpy_async(block, data, in, sizeof data, barrier);
    barrier.arrive_and_wait();
    out[threadIdx.x] = data[127 - threadIdx.x] + in[threadIdx.x] + in[threadIdx.x + 1];
}

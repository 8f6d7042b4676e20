// Atomic operations of all widths and scopes, fences, and libcu++'s atomics.
#include <cuda/atomic>
#include <cuda_fp16.h>

__global__ void classic(int* a, unsigned long long* b, float* c, double* d) {
    int i = threadIdx.x;
    atomicAdd(a, 1);
    atomicMax(a + 1, i);
    atomicCAS(a + 2, i, i + 1);
    atomicExch(b, i);
    atomicAdd(b + 1, 7ull);
    atomicAdd(c, c[i] + c[i + 1]);
    atomicAdd(d, 1.5);
    atomicInc(reinterpret_cast<unsigned*>(a + 3), 100);
    atomicOr_block(a + 4, 3);
    atomicAnd_system(a + 5, 1);
    __threadfence_block();
    __threadfence();
    __threadfence_system();
}

__global__ void library(cuda::atomic<int, cuda::thread_scope_device>* flag, int* data, volatile int* loud) {
    data[threadIdx.x] = loud[threadIdx.x] + loud[threadIdx.x + 1];
    flag->store(1, cuda::memory_order_release);
    while (flag->load(cuda::memory_order_acquire) == 1) flag->fetch_add(2, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst);
    data[threadIdx.x] += data[threadIdx.x + 1];
}

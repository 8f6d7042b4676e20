// Kernels that launch kernels (-rdc=true).
#include <cuda_runtime.h>

__global__ void child(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 2 < n) data[i + n] = data[i] + data[i + 1] + data[i + 2];
}

__global__ void parent(float* data, int n) {
    if (threadIdx.x == 0) {
        child<<<(n + 127) / 128, 128>>>(data, n);
        child<<<1, 32, 0, cudaStreamTailLaunch>>>(data, n / 2);
    }
    data[threadIdx.x] += 1.0f;
}

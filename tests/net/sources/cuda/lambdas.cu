// Extended lambdas, grid constants, managed and aligned variables, launch bounds with a minimum of blocks.
#include <cuda_runtime.h>

struct Large {
    float values[64];
};
__managed__ int managed[4];
__device__ __align__(64) float aligned[16];

template <typename F> __global__ void apply(F f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}
__global__ void __launch_bounds__(256, 4) constants(float* out, const __grid_constant__ Large large, const float* in) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = large.values[i & 63] + in[i] + in[i + 1] + in[i + 2] + aligned[i & 15] + managed[i & 3];
}
void host(float* a, const float* b, int n) {
    apply<<<1, 32>>>([=] __device__(int i) { a[i] = b[i] + b[i + 1]; }, n);
    apply<<<1, 32>>>([=] __device__(int i) { a[i] = b[i] - b[i + 2]; }, n);
}

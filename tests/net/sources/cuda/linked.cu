// Separate compilation (-rdc=true): functions and variables of other files, weak ones.
#include <cuda_runtime.h>

extern __device__ float elsewhere(float x);
extern __constant__ float coefficient;
__device__ float shared_with_others = 1.0f;
__device__ __noinline__ float exported(const float* p) { return p[0] + p[1] * coefficient; }
template <typename T> __device__ __noinline__ T weakly(T x) { return x * x; }

__global__ void user(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 2 >= n) return;
    float a = in[i], b = in[i + 1], c = in[i + 2];
    out[i] = elsewhere(a) + exported(in + i) + weakly(b) + c * shared_with_others;
}

__global__ void plain(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 2 < n) out[i] = in[i] + in[i + 1] + in[i + 2];
}

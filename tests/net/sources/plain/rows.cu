// A row of three, of five, of seven in one dimension; each thread one element.
#include "plain.h"

template <typename T, int R>
static __device__ void row(T* out, const T* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < R || i >= n - R) return;
    T sum = 0;
#pragma unroll
    for (int d = -R; d <= R; ++d) sum += in[i + d];
    out[i] = sum / (2 * R + 1);
}

extern "C" __global__ void row3(float* out, const float* in, int n) { row<float, 1>(out, in, n); }
extern "C" __global__ void row5(double* out, const double* in, int n) { row<double, 2>(out, in, n); }
extern "C" __global__ void row7(int* out, const int* __restrict__ in, int n) { row<int, 3>(out, in, n); }
extern "C" __global__ void untouched(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i * n;
}

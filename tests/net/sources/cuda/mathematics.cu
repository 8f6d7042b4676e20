// The mathematical library in both precisions, and complex numbers.
#include <cuComplex.h>
#include <cmath>

template <typename T> static __device__ T all(T x, T y) {
    return sin(x) + cos(y) * exp(x) + log(y) + pow(x, y) + sqrt(x) / cbrt(y) + fmod(x, y) + erf(x) + tgamma(y) + atan2(x, y);
}
__global__ void singles(float* out, const float* in) { out[threadIdx.x] = all(in[threadIdx.x], in[threadIdx.x + 1]); }
__global__ void doubles(double* out, const double* in) { out[threadIdx.x] = all(in[threadIdx.x], in[threadIdx.x + 1]); }
__global__ void complex_row(cuDoubleComplex* out, const cuDoubleComplex* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 2) out[i] = cuCadd(cuCmul(in[i], in[i + 1]), cuCdiv(in[i + 2], in[i]));
}
__global__ void intrinsics(float* out, const float* in) {
    int i = threadIdx.x;
    out[i] = __sinf(in[i]) + __expf(in[i + 1]) + __fdividef(in[i], in[i + 2]) + rsqrtf(in[i + 1]) + __fmaf_rz(in[i], in[i + 1], in[i + 2]);
}

// Small floating-point types: half, half2, bfloat16, fp8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void half_row(half* out, const half* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < n - 1) out[i] = __hadd(__hadd(in[i - 1], in[i]), in[i + 1]);
}
__global__ void pairs(half2* out, const half2* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 2) out[i] = __hfma2(in[i], in[i + 1], h2exp(in[i + 2]));
}
__global__ void brains(__nv_bfloat16* out, const __nv_bfloat16* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) out[i] = __float2bfloat16(__bfloat162float(in[i]) * __bfloat162float(in[i + 1]));
}
__global__ void eighths(__nv_fp8_e4m3* out, const __nv_fp8_e5m2* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) out[i] = __nv_fp8_e4m3(float(in[i]) + float(in[i + 1]));
}

// Loads and stores with cache hints, vectors of every width, misaligned and byte-wise structures.
#include <cuda_runtime.h>

struct __attribute__((packed)) Odd {
    char tag;
    float value;
};

__global__ void hints(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 4 >= n) return;
    float sum = __ldg(in + i) + __ldg(in + i + 1) + __ldcs(in + i + 2) + __ldcg(in + i + 3) + __ldlu(in + i) + __ldcv(in + i + 1);
    __stcs(out + i, sum);
    __stwt(out + i + n, sum);
}
__global__ void vectors(float4* out, const float2* two, const float4* four, const double2* wide, const uchar4* bytes, const Odd* odd) {
    int i = threadIdx.x;
    float2 a = two[i], b = two[i + 1];
    float4 c = four[i], d = four[i + 1];
    double2 e = wide[i], f = wide[i + 1];
    uchar4 g = bytes[i], h = bytes[i + 1];
    out[i] = make_float4(a.x + b.y, c.x * d.w, e.x - f.y, g.x + h.w + odd[i].value + odd[i + 1].value);
}

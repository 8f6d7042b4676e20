// Five and nine points of a plane, with and without a bound that the launch promises.
#include "plain.h"

extern "C" __global__ void five(float* __restrict__ out, const float* __restrict__ in, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1) return;
    const float* p = in + (long long)y * nx + x;
    out[(long long)y * nx + x] = 0.5f * p[0] + 0.125f * (p[-1] + p[1] + p[-nx] + p[nx]);
}

extern "C" __global__ void __launch_bounds__(128) nine(float* out, const float* in, int nx, int ny) {
    int x = blockIdx.x * 128 + threadIdx.x + 1;
    for (int y = 1; y < ny - 1; ++y) {
        if (x >= nx - 1) break;
        float sum = 0.0f;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) sum += in[(y + dy) * nx + x + dx] * (1.0f + dx * dy);
        out[y * nx + x] = sum;
    }
}

// A time step of a wave equation of fourth order, and a shifted difference that is stored between loads.
#include "plain.h"

extern "C" __global__ void wave(float* __restrict__ next, const float* __restrict__ now, const float* __restrict__ last, int nx, int ny) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < 2 || x >= nx - 2u || y < 2 || y >= ny - 2u) return;
    unsigned long at = static_cast<unsigned long>(y) * nx + x;
    float dx = -now[at - 2] + 16 * now[at - 1] - 30 * now[at] + 16 * now[at + 1] - now[at + 2];
    float dy = -now[at - 2 * nx] + 16 * now[at - nx] - 30 * now[at] + 16 * now[at + nx] - now[at + 2 * nx];
    next[at] = 2 * now[at] - last[at] + 0.01f * (dx + dy);
}

extern "C" __global__ void inplace(double* a, double* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 4 >= n) return;
    b[i] = a[i + 1] - a[i];
    a[i + 3] = b[i + 2] * a[i + 2];
    b[i + 4] = a[i] + a[i + 1] + a[i + 2] + a[i + 3];
}

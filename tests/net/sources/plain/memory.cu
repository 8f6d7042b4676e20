// State spaces: constants, global variables with initial values, arrays in local memory, structures by
// value, vectors, pointers of unknown space.
#include "plain.h"

struct Settings {
    float scale[5];
    int lengths[3];
    short flag;
};
struct alignas(16) Quad {
    float x, y, z, w;
};

__constant__ float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
__device__ int counter = 3;
__device__ double table[4] = {0.5, 1.5, -2.5, 1e300};

extern "C" __global__ void filter(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 8 >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 9; ++k) sum += weights[k] * in[i + k];
    out[i] = sum;
}

extern "C" __global__ void values(float* out, Settings settings, const Quad* quads) {
    int i = threadIdx.x;
    Quad q = quads[i];
    float local[16];
    for (int k = 0; k < 16; ++k) local[k] = q.x * k + settings.scale[k % 5];
    out[i] = local[settings.lengths[0] & 15] + q.y + q.z * q.w + settings.flag;
}

extern "C" __global__ void spaces(double* out, int n) {
    __shared__ double mine[64];
    int i = threadIdx.x;
    mine[i] = table[i & 3];
    double* either = n > 3 ? mine : table;
    __syncthreads();
    out[i] = either[i] + either[i + 1] + counter;
    if (i == 0) counter = n;
}

// Indirect addresses: a sparse product and a histogram without atomics.
#include "plain.h"

extern "C" __global__ void spmv(float* y, const float* values, const int* columns, const int* starts, const float* x, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

extern "C" __global__ void gather(float* out, const float* in, const unsigned* indices, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[indices[i]] + in[indices[i] + 1] + in[indices[i + 1]];
}

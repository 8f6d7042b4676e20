// C = A * B for matrices of n rows and columns; threadIdx.x counts rows, or columns.
__device__ void element(float* c, const float* a, const float* b, int n, int row, int column) {
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void x_is_row(float* c, const float* a, const float* b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) element(c, a, b, n, x, y);
}

extern "C" __global__ void x_is_column(float* c, const float* a, const float* b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) element(c, a, b, n, y, x);
}

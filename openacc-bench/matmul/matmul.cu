// C(i,j) += A(i,k) * B(k,j): one thread per element of C, k sequential inside. n is a multiple
// of 4.

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n)
        return;

    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; k += 4)
        sum += a[k * n + i] * b[j * n + k] + a[(k + 1) * n + i] * b[j * n + k + 1] +
               a[(k + 2) * n + i] * b[j * n + k + 2] + a[(k + 3) * n + i] * b[j * n + k + 3];
    c[j * n + i] = sum;
}

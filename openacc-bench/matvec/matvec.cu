// y(j) += A(i,j) * x(i): one thread per j, i sequential inside. A thread walks along the contiguous
// index, so that neighbouring lanes are a whole row apart and have nothing to share.

extern "C" __global__ void matvec(const float *a, const float *x, float *y, int nx, int ny)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny)
        return;

    float sum = y[j];
#pragma unroll 1
    for (int i = 0; i + 2 < nx; i += 3)
        sum += a[j * nx + i] * x[i] + a[j * nx + i + 1] * x[i + 1] + a[j * nx + i + 2] * x[i + 2];
    y[j] = sum;
}

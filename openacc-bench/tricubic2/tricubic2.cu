// Tricubic interpolation as in tricubic.cu, with the weights in small arrays and three inner loops.

static __device__ __forceinline__ void weights(float x, float w[4])
{
    w[0] = -(x - 1.0f) * x * (x - 2.0f) / 6.0f;
    w[1] = (x - 1.0f) * (x + 1.0f) * (x - 2.0f) / 2.0f;
    w[2] = -x * (x + 1.0f) * (x - 2.0f) / 2.0f;
    w[3] = x * (x - 1.0f) * (x + 1.0f) / 6.0f;
}

extern "C" __global__ void tricubic2(const float *u0, const float *a, const float *b,
                                     const float *c, float *u1, int nx, int ny, int nz)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const int k = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i >= nx - 2 || j >= ny - 2 || k >= nz - 2)
        return;

    const int at = i + nx * (j + ny * k);
    float wa[4], wb[4], wc[4];
    weights(a[at], wa);
    weights(b[at], wb);
    weights(c[at], wc);

    float sum = 0.0f;
    for (int kk = 0; kk < 4; kk++)
        for (int jj = 0; jj < 4; jj++)
            for (int ii = 0; ii < 4; ii++)
                sum += wa[ii] * wb[jj] * wc[kk] *
                       u0[i + ii - 1 + nx * (j + jj - 1 + ny * (k + kk - 1))];
    u1[at] = sum;
}

// Rows of 3 and of 5 taps past the first-level cache (`ld.global.cg`): each load is a request to
// the second level, so that a value from another lane is cheaper than a load.

static __device__ float row3(const float *at, float w0, float w1)
{
    const float before = __ldcg(at - 1), behind = __ldcg(at + 1);
    return w0 * __ldcg(at) + w1 * (before + behind);
}

static __device__ float row5(const float *at, float w0, float w1, float w2)
{
    const float before = __ldcg(at - 2), behind = __ldcg(at + 2);
    return w2 * (before + behind) + w1 * (__ldcg(at - 1) + __ldcg(at + 1)) + w0 * __ldcg(at);
}

extern "C" __global__ void pastl1_3(const float *in, float *out, int nx, int ny, float w0, float w1)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nx - 1 || j >= ny - 1)
        return;

    const float *at = in + j * nx + i;
    out[j * nx + i] = w1 * (row3(at - nx, w0, w1) + row3(at + nx, w0, w1)) + w0 * row3(at, w0, w1);
}

extern "C" __global__ void pastl1_5(const float *in, float *out, int nx, int ny, float w0, float w1,
                                    float w2)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 2;
    if (i >= nx - 2 || j >= ny - 2)
        return;

    const float *at = in + j * nx + i;
    out[j * nx + i] = w2 * (row5(at - 2 * nx, w0, w1, w2) + row5(at + 2 * nx, w0, w1, w2)) +
                      w1 * (row5(at - nx, w0, w1, w2) + row5(at + nx, w0, w1, w2)) +
                      w0 * row5(at, w0, w1, w2);
}

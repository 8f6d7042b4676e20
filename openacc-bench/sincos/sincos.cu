// sin(x) + cos(y): long argument reductions with loops and local memory, and nothing to share.

extern "C" __global__ void sincos_sum(const float *__restrict__ x, const float *__restrict__ y,
                                      float *__restrict__ xy, int nx, int ny)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y;
    if (i >= nx || j >= ny)
        return;

    xy[j * nx + i] = sinf(x[j * nx + i]) + cosf(y[j * nx + i]);
}

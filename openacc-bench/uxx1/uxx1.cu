// Velocity update of an elastic wave code on a staggered grid, order 4 in space.

extern "C" __global__ void uxx1(const float *__restrict__ u0, const float *__restrict__ d1,
                                const float *__restrict__ xx, const float *__restrict__ xy,
                                const float *__restrict__ xz, float *__restrict__ u1, int nx,
                                int ny, int nz, float dth, float c1, float c2)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z;
    if (i < 2 || i >= nx - 1 || j < 2 || j >= ny - 1 || k < 2 || k >= nz - 1)
        return;

    const int row = nx;
    const int plane = nx * ny;
    const int at = k * plane + j * row + i;
    const float d = 0.25f * (d1[at] + d1[at - row] + d1[at - plane] + d1[at - plane - row]);
    u1[at] =
        u0[at] +
        (dth / d) * (c2 * (xx[at + 1] - xx[at - 2]) + c1 * (xx[at] - xx[at - 1]) +
                     c2 * (xy[at + row] - xy[at - 2 * row]) + c1 * (xy[at] - xy[at - row]) +
                     c2 * (xz[at + plane] - xz[at - 2 * plane]) + c1 * (xz[at] - xz[at - plane]));
}

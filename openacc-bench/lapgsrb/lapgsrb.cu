// 3-D 25-point Laplacian: c0 for the centre, c1 for the 6 points at distance 1, c2 for the 12 at
// distance sqrt(2), c3 for the 6 at distance 2.

extern "C" __global__ void lapgsrb(const float *w0, float *w1, int nx, int ny, int nz, float c0,
                                   float c1, float c2, float c3)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 2;
    const int k = blockIdx.z + 2;
    if (i >= nx - 2 || j >= ny - 2 || k >= nz - 2)
        return;

#define W(di, dj, dk) w0[((k + (dk)) * ny + (j + (dj))) * nx + i + (di)]
    w1[(k * ny + j) * nx + i] =
        c3 * (W(-2, 0, 0) + W(2, 0, 0) + W(0, -2, 0) + W(0, 2, 0) + W(0, 0, -2) + W(0, 0, 2)) +
        c2 * (W(-1, -1, 0) + W(1, -1, 0) + W(-1, 1, 0) + W(1, 1, 0) + W(-1, 0, -1) + W(1, 0, -1) +
              W(-1, 0, 1) + W(1, 0, 1) + W(0, -1, -1) + W(0, 1, -1) + W(0, -1, 1) + W(0, 1, 1)) +
        c1 * (W(-1, 0, 0) + W(1, 0, 0) + W(0, -1, 0) + W(0, 1, 0) + W(0, 0, -1) + W(0, 0, 1)) +
        c0 * W(0, 0, 0);
#undef W
}

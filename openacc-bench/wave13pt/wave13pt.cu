// Acoustic wave propagation, 13-point star of order 4 in space and order 2 in time:
// m1 for the six points at distance 1, m2 for the six at distance 2, m0 for the centre.
//
// Grids beyond 2^31 points are common here, so the linear index is 64 bits wide.

extern "C" __global__ void wave13pt(const float *__restrict__ w0, const float *__restrict__ w_old,
                                    float *__restrict__ w2, size_t nx, size_t ny, size_t nz,
                                    float m0, float m1, float m2)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x + 2;
    const size_t j = (size_t)blockIdx.y * blockDim.y + threadIdx.y + 2;
    const size_t k = (size_t)blockIdx.z * blockDim.z + threadIdx.z + 2;
    if (i >= nx - 2 || j >= ny - 2 || k >= nz - 2)
        return;

    const size_t row = nx;
    const size_t plane = nx * ny;
    const float *w = w0 + k * plane + j * row + i;
    const size_t at = k * plane + j * row + i;
    w2[at] = m2 * (w[-2] + w[2] + *(w - 2 * row) + w[2 * row] + *(w - 2 * plane) + w[2 * plane]) +
             m1 * (w[-1] + w[1] + *(w - row) + w[row] + *(w - plane) + w[plane]) + m0 * w[0] -
             w_old[at];
}

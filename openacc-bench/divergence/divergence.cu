// Divergence of a vector field by central differences.

extern "C" __global__ void divergence(const float *__restrict__ ux, const float *__restrict__ uy,
                                      const float *__restrict__ uz, float *__restrict__ u, int nx,
                                      int ny, int nz, float alpha, float beta, float gamma)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1 || k < 1 || k >= nz - 1)
        return;

    const int at = (k * ny + j) * nx + i;
    u[at] = alpha * (ux[at + 1] - ux[at - 1]) + beta * (uy[at + nx] - uy[at - nx]) +
            gamma * (uz[at + nx * ny] - uz[at - nx * ny]);
}

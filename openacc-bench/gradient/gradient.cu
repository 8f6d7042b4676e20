// Gradient of a scalar field by central differences. All six values are read before the first
// component is written, as the outputs may overlap the input for all the compiler knows.

extern "C" __global__ void gradient(const float *u, float *ux, float *uy, float *uz, int nx, int ny,
                                    int nz, float alpha, float beta, float gamma)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1 || k < 1 || k >= nz - 1)
        return;

    const int at = (k * ny + j) * nx + i;
    const float dx = u[at + 1] - u[at - 1];
    const float dy = u[at + nx] - u[at - nx];
    const float dz = u[at + nx * ny] - u[at - nx * ny];
    ux[at] = alpha * dx;
    uy[at] = beta * dy;
    uz[at] = gamma * dz;
}

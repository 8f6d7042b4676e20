// Derivatives on a curvilinear grid, order 4: acceleration from the stress, rate of strain from the
// velocity; curvilinear.h has the equations. 155 loads; offsets between components are 64 bits
// wide.

#include "point.h"

extern "C" __global__ void curvilinear(const float *metric, const float *jacobian,
                                       const float *density, const float *stress,
                                       const float *velocity, float *acceleration, float *strain,
                                       int nx, int ny, int nz, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    const int j = blockIdx.y + 2;
    const int k = blockIdx.z + 2;
    if (i >= nx - 2 || j >= ny - 2 || k >= nz - 2)
        return;

    const long long size = (long long)nx * ny * nz;
    const int at = (k * ny + j) * nx + i;
    const derivatives r =
        derivatives_at(metric, jacobian, density, stress, velocity, at, nx, nx * ny, size);
    for (int c = 0; c < 3; c++)
        acceleration[c * size + at] = scale * r.a[c];
    for (int c = 0; c < 6; c++)
        strain[c * size + at] = scale * r.e[c];
}

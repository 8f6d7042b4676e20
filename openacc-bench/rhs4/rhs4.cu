// Right-hand side of the elastic wave equation, order 4 in space; rhs4.h has the equations. 179
// loads: a star of 13 points of the two moduli, 45 points of each component of the displacement,
// the stretching factors, and the old result.

#include "point.h"

extern "C" __global__ void rhs4(const double *mu, const double *la, const double *u,
                                const double *stretch_x, const double *stretch_y,
                                const double *stretch_z, double *lu, int nx, int ny, int nz,
                                double keep, double cof)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    const int j = blockIdx.y + 2;
    const int k = blockIdx.z + 2;
    if (i >= nx - 2 || j >= ny - 2 || k >= nz - 2)
        return;

    const int row = nx;
    const int plane = nx * ny;
    const int component = nx * ny * nz;
    const int at = (k * ny + j) * nx + i;
    const vector r = rhs4_at(mu, la, u, u + component, u + 2 * component, stretch_x + i,
                             stretch_y + j, stretch_z + k, at, row, plane);
    const double x = keep * lu[at] + cof * r.x;
    const double y = keep * lu[at + component] + cof * r.y;
    const double z = keep * lu[at + 2 * component] + cof * r.z;
    lu[at] = x;
    lu[at + component] = y;
    lu[at + 2 * component] = z;
}

// Hyperbolic terms of the compressible Navier-Stokes equations, one kernel for each direction. The
// first sets the rates, the others add to them; along i it reads 8 neighbours in the same row from
// each of 6 arrays. hypterm.h has the equations.

#include "point.h"

#define DIRECTION(name, axis, stride, SET)                                                          \
    extern "C" __global__ void name(                                                                \
        const double *mx, const double *my, const double *mz, const double *energy,                 \
        const double *v, const double *pressure, double *rate_mass, double *rate_mx,                \
        double *rate_my, double *rate_mz, double *rate_energy, int nx, int ny, int nz,              \
        double scale)                                                                               \
    {                                                                                               \
        const int i = blockIdx.x * blockDim.x + threadIdx.x + 4;                                    \
        const int j = blockIdx.y + 4;                                                               \
        const int k = blockIdx.z + 4;                                                               \
        if (i >= nx - 4 || j >= ny - 4 || k >= nz - 4)                                              \
            return;                                                                                 \
        const int at = (k * ny + j) * nx + i;                                                       \
        const rates r = rates_at(axis, mx, my, mz, energy, v, pressure, at, stride);                \
        rate_mass[at] SET scale * r.mass;                                                           \
        rate_mx[at] SET scale * r.mx;                                                               \
        rate_my[at] SET scale * r.my;                                                               \
        rate_mz[at] SET scale * r.mz;                                                               \
        rate_energy[at] SET scale * r.energy;                                                       \
    }

DIRECTION(hypterm_x, 0, 1, = -)
DIRECTION(hypterm_y, 1, nx, -=)
DIRECTION(hypterm_z, 2, nx * ny, -=)

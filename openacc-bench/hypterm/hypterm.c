#include "hypterm.h"
#include "point.h"

#define PRAGMA(...) _Pragma(#__VA_ARGS__)

/* One direction for all points; the first sets the rates. */
#define DIRECTION(name, axis, stride, SET)                                                          \
    static void name(const struct problem *p, real *const field[])                                  \
    {                                                                                               \
        const int nx = p->nx, ny = p->ny, nz = p->nz;                                               \
        const size_t n = points(p);                                                                 \
        const real *mx = field[MX], *my = field[MY], *mz = field[MZ], *energy = field[ENERGY];      \
        const real *v = field[VX + axis], *pressure = field[PRESSURE];                              \
        real *mass = field[RATE], *rx = field[RATE + 1], *ry = field[RATE + 2];                     \
        real *rz = field[RATE + 3], *total = field[RATE + 4];                                       \
                                                                                                    \
        PRAGMA(acc parallel loop gang collapse(2) vector_length(128)                                \
               present(mx[0:n], my[0:n], mz[0:n], energy[0:n], v[0:n], pressure[0:n])               \
               present(mass[0:n], rx[0:n], ry[0:n], rz[0:n], total[0:n]))                           \
        for (int k = 4; k < nz - 4; k++)                                                            \
            for (int j = 4; j < ny - 4; j++) {                                                      \
                _Pragma("acc loop vector")                                                          \
                for (int i = 4; i < nx - 4; i++) {                                                  \
                    const int at = (k * ny + j) * nx + i;                                           \
                    const struct rates r =                                                          \
                        rates_at(axis, mx, my, mz, energy, v, pressure, at, stride);                \
                    mass[at] SET SCALE * r.mass;                                                    \
                    rx[at] SET SCALE * r.mx;                                                        \
                    ry[at] SET SCALE * r.my;                                                        \
                    rz[at] SET SCALE * r.mz;                                                        \
                    total[at] SET SCALE * r.energy;                                                 \
                }                                                                                   \
            }                                                                                       \
    }

DIRECTION(hypterm_x, 0, 1, = -)
DIRECTION(hypterm_y, 1, nx, -=)
DIRECTION(hypterm_z, 2, nx * ny, -=)

static void run(const struct problem *p, real *const field[])
{
    hypterm_x(p, field);
    hypterm_y(p, field);
    hypterm_z(p, field);
}

#include "../openacc.h"

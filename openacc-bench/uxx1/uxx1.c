#include "uxx1.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *u0 = field[U0];
    const real *d1 = field[D1];
    const real *xx = field[XX];
    const real *xy = field[XY];
    const real *xz = field[XZ];
    real *u1 = field[U1];
    const size_t plane = (size_t)nx * ny;

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(u0[0 : n], d1[0 : n], xx[0 : n], xy[0 : n], xz[0 : n], u1[0 : n])
    for (int k = 2; k < nz - 1; k++)
        for (int j = 2; j < ny - 1; j++) {
#pragma acc loop vector
            for (int i = 2; i < nx - 1; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                const float d =
                    0.25f * (d1[at] + d1[at - nx] + d1[at - plane] + d1[at - plane - nx]);
                u1[at] = u0[at] +
                         (DTH / d) *
                             (C2 * (xx[at + 1] - xx[at - 2]) + C1 * (xx[at] - xx[at - 1]) +
                              C2 * (xy[at + nx] - xy[at - 2 * nx]) + C1 * (xy[at] - xy[at - nx]) +
                              C2 * (xz[at + plane] - xz[at - 2 * plane]) +
                              C1 * (xz[at] - xz[at - plane]));
            }
        }
}

#include "../openacc.h"

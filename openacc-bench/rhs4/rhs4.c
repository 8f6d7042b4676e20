#include "rhs4.h"
#include "point.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const int row = nx, plane = nx * ny, component = nx * ny * nz;
    const size_t n = points(p);
    const real *mu = field[MU];
    const real *la = field[LAMBDA];
    const real *u = field[UP];
    const real *sx = field[STRETCH_X];
    const real *sy = field[STRETCH_Y];
    const real *sz = field[STRETCH_Z];
    real *lu = field[LU];

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(mu[0 : n], la[0 : n], u[0 : 3 * n], sx[0 : nx], sy[0 : ny], sz[0 : nz], lu[0 : 3 * n])
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++) {
#pragma acc loop vector
            for (int i = 2; i < nx - 2; i++) {
                const int at = (k * ny + j) * nx + i;
                const struct vector r = rhs4_at(mu, la, u, u + component, u + 2 * component, sx + i,
                                                sy + j, sz + k, at, row, plane);
                const real x = KEEP * lu[at] + COF * r.x;
                const real y = KEEP * lu[at + component] + COF * r.y;
                const real z = KEEP * lu[at + 2 * component] + COF * r.z;
                lu[at] = x;
                lu[at + component] = y;
                lu[at + 2 * component] = z;
            }
        }
}

#include "../openacc.h"

#include "divergence.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *ux = field[UX];
    const real *uy = field[UY];
    const real *uz = field[UZ];
    real *u = field[U];
    const size_t plane = (size_t)nx * ny;

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(ux[0 : n], uy[0 : n], uz[0 : n], u[0 : n])
    for (int k = 1; k < nz - 1; k++)
        for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
            for (int i = 1; i < nx - 1; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                u[at] = ALPHA * (ux[at + 1] - ux[at - 1]) + BETA * (uy[at + nx] - uy[at - nx]) +
                        GAMMA * (uz[at + plane] - uz[at - plane]);
            }
        }
}

#include "../openacc.h"

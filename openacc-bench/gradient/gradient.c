#include "gradient.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *u = field[U];
    real *ux = field[UX];
    real *uy = field[UY];
    real *uz = field[UZ];
    const size_t plane = (size_t)nx * ny;

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(u[0 : n], ux[0 : n], uy[0 : n], uz[0 : n])
    for (int k = 1; k < nz - 1; k++)
        for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
            for (int i = 1; i < nx - 1; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                const float dx = u[at + 1] - u[at - 1];
                const float dy = u[at + nx] - u[at - nx];
                const float dz = u[at + plane] - u[at - plane];
                ux[at] = ALPHA * dx;
                uy[at] = BETA * dy;
                uz[at] = GAMMA * dz;
            }
        }
}

#include "../openacc.h"

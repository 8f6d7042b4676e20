#include "laplacian.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *w0 = field[W0];
    real *w1 = field[W1];
    const size_t plane = (size_t)nx * ny;

#pragma acc parallel loop gang collapse(2) vector_length(128) present(w0[0 : n], w1[0 : n])
    for (int k = 1; k < nz - 1; k++)
        for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
            for (int i = 1; i < nx - 1; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                w1[at] = BETA * (w0[at - 1] + w0[at + 1] + w0[at - nx] + w0[at + nx] +
                                 w0[at - plane] + w0[at + plane]) +
                         ALPHA * w0[at];
            }
        }
}

#include "../openacc.h"

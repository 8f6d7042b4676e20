#include "wave13pt.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *w0 = field[W0];
    const real *w_old = field[W_OLD];
    real *w2 = field[W2];
    const size_t plane = (size_t)nx * ny;

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(w0[0 : n], w_old[0 : n], w2[0 : n])
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++) {
#pragma acc loop vector
            for (int i = 2; i < nx - 2; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                w2[at] = M2 * (w0[at - 2] + w0[at + 2] + w0[at - 2 * nx] + w0[at + 2 * nx] +
                               w0[at - 2 * plane] + w0[at + 2 * plane]) +
                         M1 * (w0[at - 1] + w0[at + 1] + w0[at - nx] + w0[at + nx] +
                               w0[at - plane] + w0[at + plane]) +
                         M0 * w0[at] - w_old[at];
            }
        }
}

#include "../openacc.h"

#include "gameoflife.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real *w0 = field[W0];
    real *w1 = field[W1];

#pragma acc parallel loop gang vector_length(128) present(w0[0 : n], w1[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
            const size_t at = (size_t)j * nx + i;
            const float around = w0[at - nx - 1] + w0[at - nx + 1] + w0[at - nx] + w0[at - 1] +
                                 w0[at + 1] + w0[at + nx - 1] + w0[at + nx + 1] + w0[at + nx];
            const float alive = w0[at];
            w1[at] = 1.0f / (1.0f + (alive + around - 3.0f) * (around - 3.0f) * 1.0e20f);
        }
    }
}

#include "../openacc.h"

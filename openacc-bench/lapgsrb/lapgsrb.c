#include "lapgsrb.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *w0 = field[W0];
    real *w1 = field[W1];

#pragma acc parallel loop gang collapse(2) vector_length(128) present(w0[0 : n], w1[0 : n])
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++) {
#pragma acc loop vector
            for (int i = 2; i < nx - 2; i++) {
#define W(di, dj, dk) w0[((size_t)(k + (dk)) * ny + (j + (dj))) * nx + i + (di)]
                w1[((size_t)k * ny + j) * nx + i] =
                    C3 * (W(-2, 0, 0) + W(2, 0, 0) + W(0, -2, 0) + W(0, 2, 0) + W(0, 0, -2) +
                          W(0, 0, 2)) +
                    C2 * (W(-1, -1, 0) + W(1, -1, 0) + W(-1, 1, 0) + W(1, 1, 0) + W(-1, 0, -1) +
                          W(1, 0, -1) + W(-1, 0, 1) + W(1, 0, 1) + W(0, -1, -1) + W(0, 1, -1) +
                          W(0, -1, 1) + W(0, 1, 1)) +
                    C1 * (W(-1, 0, 0) + W(1, 0, 0) + W(0, -1, 0) + W(0, 1, 0) + W(0, 0, -1) +
                          W(0, 0, 1)) +
                    C0 * W(0, 0, 0);
#undef W
            }
        }
}

#include "../openacc.h"

#include "gaussblur.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real *w0 = field[W0];
    real *w1 = field[W1];
    const float f = 1.0f / (S0 + 4.0f * (S1 + S2 + S4 + S8) + 8.0f * S5);

#pragma acc parallel loop gang vector_length(128) present(w0[0 : n], w1[0 : n])
    for (int j = 2; j < ny - 2; j++) {
#pragma acc loop vector
        for (int i = 2; i < nx - 2; i++) {
            const float *m2 = &w0[(size_t)(j - 2) * nx + i];
            const float *m1 = &w0[(size_t)(j - 1) * nx + i];
            const float *z0 = &w0[(size_t)j * nx + i];
            const float *p1 = &w0[(size_t)(j + 1) * nx + i];
            const float *p2 = &w0[(size_t)(j + 2) * nx + i];
            w1[(size_t)j * nx + i] =
                f *
                (S8 * (m2[-2] + m2[2] + p2[-2] + p2[2]) +
                 S5 * (m1[-2] + m1[2] + p1[-2] + p1[2] + m2[-1] + m2[1] + p2[-1] + p2[1]) +
                 S4 * (z0[-2] + z0[2] + m2[0] + p2[0]) + S2 * (m1[-1] + m1[1] + p1[-1] + p1[1]) +
                 S1 * (z0[-1] + z0[1] + m1[0] + p1[0]) + S0 * z0[0]);
        }
    }
}

#include "../openacc.h"

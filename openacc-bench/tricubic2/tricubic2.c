#include "tricubic2.h"

#pragma acc routine seq
static inline void weights(float x, float w[4])
{
    w[0] = -(x - 1.0f) * x * (x - 2.0f) / 6.0f;
    w[1] = (x - 1.0f) * (x + 1.0f) * (x - 2.0f) / 2.0f;
    w[2] = -x * (x + 1.0f) * (x - 2.0f) / 2.0f;
    w[3] = x * (x - 1.0f) * (x + 1.0f) / 6.0f;
}

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *u0 = field[U0];
    const real *a = field[A];
    const real *b = field[B];
    const real *c = field[C];
    real *u1 = field[U1];

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(u0[0 : n], a[0 : n], b[0 : n], c[0 : n], u1[0 : n])
    for (int k = 1; k < nz - 2; k++)
        for (int j = 1; j < ny - 2; j++) {
#pragma acc loop vector
            for (int i = 1; i < nx - 2; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                float wa[4], wb[4], wc[4];
                weights(a[at], wa);
                weights(b[at], wb);
                weights(c[at], wc);
                float sum = 0.0f;
#pragma acc loop seq
                for (int kk = 0; kk < 4; kk++)
#pragma acc loop seq
                    for (int jj = 0; jj < 4; jj++)
#pragma acc loop seq
                        for (int ii = 0; ii < 4; ii++)
                            sum += wa[ii] * wb[jj] * wc[kk] *
                                   u0[((size_t)(k + kk - 1) * ny + (j + jj - 1)) * nx + i + ii - 1];
                u1[at] = sum;
            }
        }
}

#include "../openacc.h"

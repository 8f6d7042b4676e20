#include "pastl1.h"

static void rows(const struct problem *p, int radius, const real *weights, const real *in,
                 real *out)
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real w0 = weights[0], w1 = weights[1], w2 = radius > 1 ? weights[2] : 0;

#pragma acc parallel loop gang vector_length(128) present(in[0 : n], out[0 : n])
    for (int j = radius; j < ny - radius; j++) {
#pragma acc loop vector
        for (int i = radius; i < nx - radius; i++) {
            float sum = 0;
#pragma acc loop seq
            for (int b = -radius; b <= radius; b++) {
                const real *at = in + (size_t)(j + b) * nx + i;
                float row = w0 * at[0] + w1 * (at[-1] + at[1]);
                if (radius > 1)
                    row += w2 * (at[-2] + at[2]);
                sum += (b == 0 ? w0 : b * b == 1 ? w1 : w2) * row;
            }
            out[(size_t)j * nx + i] = sum;
        }
    }
}

static void run(const struct problem *p, real *const field[])
{
    rows(p, 1, NEAR, field[IN], field[OUT3]);
    rows(p, 2, FAR, field[IN], field[OUT5]);
}

#include "../openacc.h"

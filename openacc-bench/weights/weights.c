#include "weights.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real *weight = field[WEIGHT], *in = field[IN];
    real *out = field[OUT];

#pragma acc parallel loop gang vector_length(128) present(weight[0 : TAPS], in[0 : n], out[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
            float sum = 0;
#pragma acc loop seq
            for (int b = 0; b < 3; b++)
#pragma acc loop seq
                for (int a = 0; a < 3; a++)
                    sum += weight[3 * b + a] * in[(size_t)(j + b - 1) * nx + i + a - 1];
            out[(size_t)j * nx + i] = sum;
        }
    }
}

#include "../openacc.h"

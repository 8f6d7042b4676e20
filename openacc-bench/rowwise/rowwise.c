#include "rowwise.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real *a = field[A];
    real *roughness = field[ROUGHNESS];

#pragma acc parallel loop gang vector vector_length(128) present(a[0 : n], roughness[0 : ny])
    for (int j = 0; j < ny; j++) {
        float sum = 0;
#pragma acc loop seq
        for (int i = 1; i < nx - 1; i++) {
            const real *at = a + (size_t)j * nx + i;
            const float bend = at[-1] - 2.0f * at[0] + at[1];
            sum += bend * bend;
        }
        roughness[j] = sum;
    }
}

#include "../openacc.h"

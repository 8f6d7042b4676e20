#include "matvec.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real *a = field[A];
    const real *x = field[X];
    real *y = field[Y];

#pragma acc parallel loop gang vector vector_length(128) present(a[0 : n], x[0 : nx], y[0 : ny])
    for (int j = 0; j < ny; j++) {
        float sum = y[j];
#pragma acc loop seq
        for (int i = 0; i < nx; i++)
            sum += a[(size_t)j * nx + i] * x[i];
        y[j] = sum;
    }
}

#include "../openacc.h"

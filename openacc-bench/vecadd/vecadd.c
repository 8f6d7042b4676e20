#include "vecadd.h"

static void run(const struct problem *p, real *const field[])
{
    const int n = p->nx;
    const real *w0 = field[W0];
    const real *w1 = field[W1];
    real *w2 = field[W2];

#pragma acc parallel loop gang vector vector_length(128) present(w0[0 : n], w1[0 : n], w2[0 : n])
    for (int i = 0; i < n; i++)
        w2[i] = w0[i] + w1[i];
}

#include "../openacc.h"

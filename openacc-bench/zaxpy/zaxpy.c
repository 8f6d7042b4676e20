#include "zaxpy.h"

struct complex {
    real re, im;
};

static void run(const struct problem *p, real *const field[])
{
    const int n = p->nx;
    const struct complex *x = (const struct complex *)field[X];
    struct complex *y = (struct complex *)field[Y];

#pragma acc parallel loop gang vector vector_length(128) present(x[0 : n], y[0 : n])
    for (int i = 0; i < n; i++) {
        const struct complex from = x[i];
        y[i].re += A_REAL * from.re - A_IMAGINARY * from.im;
        y[i].im += A_REAL * from.im + A_IMAGINARY * from.re;
    }
}

#include "../openacc.h"

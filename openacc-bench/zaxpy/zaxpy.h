/* y += a * x for complex numbers in double precision, real and imaginary part side by side. */

#ifndef ZAXPY_H
#define ZAXPY_H

#define REAL double
#include "../problem.h"

#define KERNELS(_) _(zaxpy)

enum { DIMENSIONS = 1 };
static const int small_size[3] = {1030, 1, 1}, paper_size[3] = {1 << 26, 1, 1};

enum { X, Y };

static const real A_REAL = 0.75, A_IMAGINARY = -0.25;

static inline void describe(struct problem *p)
{
    input(p, X, "x", 2 * points(p));
    output(p, Y, "y", 2 * points(p));
    launch(p, "zaxpy", dims(128, 1, 1), dims(p->nx, 1, 1), "ppirr", X, Y, p->nx, A_REAL,
           A_IMAGINARY);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int n = 0; n < p->nx; n++) {
        const real *x = field[X] + 2 * (size_t)n;
        real *y = field[Y] + 2 * (size_t)n;
        y[0] += A_REAL * x[0] - A_IMAGINARY * x[1];
        y[1] += A_REAL * x[1] + A_IMAGINARY * x[0];
    }
}

#endif

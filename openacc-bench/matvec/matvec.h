/* y(j) += A(i,j) * x(i): i is contiguous and sequential, its length a multiple of 3. */

#ifndef MATVEC_H
#define MATVEC_H

#include "../problem.h"

#define KERNELS(_) _(matvec)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {33, 260, 1}, paper_size[3] = {32768, 32768, 1};

enum { A, X, Y };

static inline void describe(struct problem *p)
{
    const int nx = p->nx -= p->nx % 3;
    input(p, A, "a", points(p));
    input(p, X, "x", (size_t)nx);
    output(p, Y, "y", (size_t)p->ny);
    launch(p, "matvec", dims(128, 1, 1), dims(p->ny, 1, 1), "pppii", A, X, Y, nx, p->ny);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int j = 0; j < p->ny; j++) {
        double sum = field[Y][j];
        for (int i = 0; i < p->nx; i++)
            sum += (double)field[A][at(p, i, j, 0)] * (double)field[X][i];
        field[Y][j] = (real)sum;
    }
}

#endif

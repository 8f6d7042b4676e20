/* 3 x 3 stencil: C0 for the centre, C1 for the edges, C2 for the corners. */

#ifndef JACOBI_H
#define JACOBI_H

#include "../problem.h"

#define KERNELS(_) _(jacobi)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {386, 8, 1}, paper_size[3] = {32768, 32768, 1};

enum { W0, W1 };

static const real C0 = 0.5f, C1 = 0.1f, C2 = 0.025f;

static inline void describe(struct problem *p)
{
    input(p, W0, "w0", points(p));
    output(p, W1, "w1", points(p));
    launch(p, "jacobi", dims(128, 1, 1), dims(p->nx, p->ny, 1), "ppiirrr", W0, W1, p->nx, p->ny, C0,
           C1, C2);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const double weight[3] = {C0, C1, C2};
    for (int j = 1; j < p->ny - 1; j++)
        for (int i = 1; i < p->nx - 1; i++) {
            double sum = 0;
            for (int dj = -1; dj <= 1; dj++)
                for (int di = -1; di <= 1; di++)
                    sum += weight[di * di + dj * dj] * field[W0][at(p, i + di, j + dj, 0)];
            field[W1][at(p, i, j, 0)] = (real)sum;
        }
}

#endif

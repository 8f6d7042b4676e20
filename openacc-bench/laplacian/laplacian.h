/* 3-D 7-point Laplacian: ALPHA for the centre, BETA for its six neighbours. */

#ifndef LAPLACIAN_H
#define LAPLACIAN_H

#include "../problem.h"

#define KERNELS(_) _(laplacian)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { W0, W1 };

static const real ALPHA = -0.9f, BETA = 0.2f;

static inline void describe(struct problem *p)
{
    input(p, W0, "w0", points(p));
    output(p, W1, "w1", points(p));
    launch(p, "laplacian", dims(128, 1, 1), dims(p->nx, p->ny - 2, p->nz - 2), "ppiiirr", W0, W1,
           p->nx, p->ny, p->nz, ALPHA, BETA);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 1; k < p->nz - 1; k++)
        for (int j = 1; j < p->ny - 1; j++)
            for (int i = 1; i < p->nx - 1; i++) {
                double around = 0;
                for (int axis = 0; axis < 3; axis++)
                    around += (double)field[W0][beside(p, i, j, k, axis, -1)] +
                              (double)field[W0][beside(p, i, j, k, axis, 1)];
                field[W1][at(p, i, j, k)] =
                    (real)(ALPHA * (double)field[W0][at(p, i, j, k)] + BETA * around);
            }
}

#endif

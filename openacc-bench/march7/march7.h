/* 3-D 7-point filter, computed by a march along k: one thread for each column of points, so that
 * what a thread loads at k + 1 it needs again at k and at k - 1. */

#ifndef MARCH7_H
#define MARCH7_H

#include "../problem.h"

#define KERNELS(_) _(march7)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { IN, OUT };

static const real CENTRE = 0.4f, AROUND = 0.1f;

static inline void describe(struct problem *p)
{
    input(p, IN, "in", points(p));
    output(p, OUT, "out", points(p));
    launch(p, "march7", dims(128, 1, 1), dims(p->nx - 2, p->ny - 2, 1), "ppiiirr", IN, OUT, p->nx,
           p->ny, p->nz, CENTRE, AROUND);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 1; k < p->nz - 1; k++)
        for (int j = 1; j < p->ny - 1; j++)
            for (int i = 1; i < p->nx - 1; i++) {
                double sum = 0;
                for (int axis = 0; axis < 3; axis++)
                    sum += (double)field[IN][beside(p, i, j, k, axis, -1)] +
                           (double)field[IN][beside(p, i, j, k, axis, 1)];
                field[OUT][at(p, i, j, k)] =
                    (real)(AROUND * sum + CENTRE * (double)field[IN][at(p, i, j, k)]);
            }
}

#endif

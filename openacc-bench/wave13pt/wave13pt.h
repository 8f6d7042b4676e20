/* Acoustic wave propagation: 13-point star of order 4 in space, order 2 in time. */

#ifndef WAVE13PT_H
#define WAVE13PT_H

#include "../problem.h"

#define KERNELS(_) _(wave13pt)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { W0, W_OLD, W2 };

static const real M0 = 1.2f, M1 = 0.16f, M2 = -0.01f;

static inline void describe(struct problem *p)
{
    input(p, W0, "w0", points(p));
    input(p, W_OLD, "w_old", points(p));
    output(p, W2, "w2", points(p));
    launch(p, "wave13pt", dims(128, 1, 1), dims(p->nx - 4, p->ny - 4, p->nz - 4), "pppzzzrrr", W0,
           W_OLD, W2, (size_t)p->nx, (size_t)p->ny, (size_t)p->nz, M0, M1, M2);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 2; k < p->nz - 2; k++)
        for (int j = 2; j < p->ny - 2; j++)
            for (int i = 2; i < p->nx - 2; i++) {
                double sum = M0 * (double)field[W0][at(p, i, j, k)];
                for (int axis = 0; axis < 3; axis++)
                    for (int steps = -2; steps <= 2; steps++)
                        if (steps != 0)
                            sum += (abs(steps) == 1 ? M1 : M2) *
                                   (double)field[W0][beside(p, i, j, k, axis, steps)];
                field[W2][at(p, i, j, k)] = (real)(sum - (double)field[W_OLD][at(p, i, j, k)]);
            }
}

#endif

/* Divergence of a vector field by central differences. */

#ifndef DIVERGENCE_H
#define DIVERGENCE_H

#include "../problem.h"

#define KERNELS(_) _(divergence)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { UX, UY, UZ, U };

static const real ALPHA = 0.5f, BETA = 0.3f, GAMMA = 0.7f;

static inline void describe(struct problem *p)
{
    input(p, UX, "ux", points(p));
    input(p, UY, "uy", points(p));
    input(p, UZ, "uz", points(p));
    output(p, U, "u", points(p));
    launch(p, "divergence", dims(128, 1, 1), dims(p->nx, p->ny, p->nz), "ppppiiirrr", UX, UY, UZ, U,
           p->nx, p->ny, p->nz, ALPHA, BETA, GAMMA);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const double weight[3] = {ALPHA, BETA, GAMMA};
    for (int k = 1; k < p->nz - 1; k++)
        for (int j = 1; j < p->ny - 1; j++)
            for (int i = 1; i < p->nx - 1; i++) {
                double sum = 0;
                for (int axis = 0; axis < 3; axis++)
                    sum += weight[axis] * ((double)field[UX + axis][beside(p, i, j, k, axis, 1)] -
                                           (double)field[UX + axis][beside(p, i, j, k, axis, -1)]);
                field[U][at(p, i, j, k)] = (real)sum;
            }
}

#endif

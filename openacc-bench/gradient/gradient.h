/* Gradient of a scalar field by central differences. */

#ifndef GRADIENT_H
#define GRADIENT_H

#include "../problem.h"

#define KERNELS(_) _(gradient)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { U, UX, UY, UZ };

static const real ALPHA = 0.5f, BETA = 0.3f, GAMMA = 0.7f;

static inline void describe(struct problem *p)
{
    input(p, U, "u", points(p));
    output(p, UX, "ux", points(p));
    output(p, UY, "uy", points(p));
    output(p, UZ, "uz", points(p));
    launch(p, "gradient", dims(128, 1, 1), dims(p->nx, p->ny, p->nz), "ppppiiirrr", U, UX, UY, UZ,
           p->nx, p->ny, p->nz, ALPHA, BETA, GAMMA);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const double weight[3] = {ALPHA, BETA, GAMMA};
    for (int k = 1; k < p->nz - 1; k++)
        for (int j = 1; j < p->ny - 1; j++)
            for (int i = 1; i < p->nx - 1; i++)
                for (int axis = 0; axis < 3; axis++)
                    field[UX + axis][at(p, i, j, k)] =
                        (real)(weight[axis] * ((double)field[U][beside(p, i, j, k, axis, 1)] -
                                               (double)field[U][beside(p, i, j, k, axis, -1)]));
}

#endif

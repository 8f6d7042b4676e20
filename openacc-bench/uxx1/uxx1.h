/* Velocity update of an elastic wave code on a staggered grid, order 4 in space. */

#ifndef UXX1_H
#define UXX1_H

#include "../problem.h"

#define KERNELS(_) _(uxx1)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { U0, D1, XX, XY, XZ, U1 };

static const real DTH = 0.01f, C1 = 1.125f, C2 = -0.0416666f;

static inline void describe(struct problem *p)
{
    input(p, U0, "u0", points(p));
    input(p, D1, "d1", points(p));
    input(p, XX, "xx", points(p));
    input(p, XY, "xy", points(p));
    input(p, XZ, "xz", points(p));
    output(p, U1, "u1", points(p));
    launch(p, "uxx1", dims(128, 1, 1), dims(p->nx, p->ny, p->nz), "ppppppiiirrr", U0, D1, XX, XY,
           XZ, U1, p->nx, p->ny, p->nz, DTH, C1, C2);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 2; k < p->nz - 1; k++)
        for (int j = 2; j < p->ny - 1; j++)
            for (int i = 2; i < p->nx - 1; i++) {
                double density = 0, sum = 0;
                for (int dk = -1; dk <= 0; dk++)
                    for (int dj = -1; dj <= 0; dj++)
                        density += 0.25 * field[D1][at(p, i, j + dj, k + dk)];
                for (int axis = 0; axis < 3; axis++) {
                    const real *stress = field[XX + axis];
                    sum += C1 * ((double)stress[at(p, i, j, k)] -
                                 (double)stress[beside(p, i, j, k, axis, -1)]) +
                           C2 * ((double)stress[beside(p, i, j, k, axis, 1)] -
                                 (double)stress[beside(p, i, j, k, axis, -2)]);
                }
                field[U1][at(p, i, j, k)] =
                    (real)((double)field[U0][at(p, i, j, k)] + DTH / density * sum);
            }
}

#endif

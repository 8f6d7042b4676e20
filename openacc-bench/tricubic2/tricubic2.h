/* Tricubic interpolation in 4 x 4 x 4 neighbours, at fractional coordinates a, b, c. The weights
 * stand in small arrays. */

#ifndef TRICUBIC2_H
#define TRICUBIC2_H

#include "../problem.h"

#define KERNELS(_) _(tricubic2)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { U0, A, B, C, U1 };

/* Lagrange's polynomial through the points -1, 0, 1, 2 that is 1 at `node`, taken at x. */
static inline double cubic_weight(int node, double x)
{
    double weight = 1;
    for (int other = -1; other <= 2; other++)
        if (other != node)
            weight *= (x - other) / (node - other);
    return weight;
}

static inline void describe(struct problem *p)
{
    input(p, U0, "u0", points(p));
    input(p, A, "a", points(p));
    input(p, B, "b", points(p));
    input(p, C, "c", points(p));
    output(p, U1, "u1", points(p));
    launch(p, "tricubic2", dims(128, 1, 1), dims(p->nx - 3, p->ny - 3, p->nz - 3), "pppppiii", U0,
           A, B, C, U1, p->nx, p->ny, p->nz);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 1; k < p->nz - 2; k++)
        for (int j = 1; j < p->ny - 2; j++)
            for (int i = 1; i < p->nx - 2; i++) {
                const size_t here = at(p, i, j, k);
                double sum = 0;
                for (int dk = -1; dk <= 2; dk++)
                    for (int dj = -1; dj <= 2; dj++)
                        for (int di = -1; di <= 2; di++)
                            sum += cubic_weight(di, field[A][here]) *
                                   cubic_weight(dj, field[B][here]) *
                                   cubic_weight(dk, field[C][here]) *
                                   field[U0][at(p, i + di, j + dj, k + dk)];
                field[U1][here] = (real)sum;
            }
}

#endif

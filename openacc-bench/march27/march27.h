/* 3-D 27-point filter, computed by a march along k: a weight for each of the distances 0, 1,
 * sqrt 2 and sqrt 3. Of the three planes that a step reads, two have been read before. */

#ifndef MARCH27_H
#define MARCH27_H

#include "../problem.h"

#define KERNELS(_) _(march27)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { IN, OUT };

/* By the number of coordinates in which a point differs from the centre. */
static const real C0 = 0.2f, C1 = 0.05f, C2 = 0.03f, C3 = 0.0175f;

static inline void describe(struct problem *p)
{
    input(p, IN, "in", points(p));
    output(p, OUT, "out", points(p));
    launch(p, "march27", dims(128, 1, 1), dims(p->nx - 2, p->ny - 2, 1), "ppzzzrrrr", IN, OUT,
           (size_t)p->nx, (size_t)p->ny, (size_t)p->nz, C0, C1, C2, C3);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const double weight[4] = {C0, C1, C2, C3};
    for (int k = 1; k < p->nz - 1; k++)
        for (int j = 1; j < p->ny - 1; j++)
            for (int i = 1; i < p->nx - 1; i++) {
                double sum = 0;
                for (int c = -1; c <= 1; c++)
                    for (int b = -1; b <= 1; b++)
                        for (int a = -1; a <= 1; a++)
                            sum += weight[abs(a) + abs(b) + abs(c)] *
                                   (double)field[IN][at(p, i + a, j + b, k + c)];
                field[OUT][at(p, i, j, k)] = (real)sum;
            }
}

#endif

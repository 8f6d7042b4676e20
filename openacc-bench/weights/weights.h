/* 2-D 3 x 3 filter whose nine weights stand in an array, so that all lanes load the same word. */

#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "../problem.h"

#define KERNELS(_) _(weights)

enum { DIMENSIONS = 2, TAPS = 9 };
static const int small_size[3] = {258, 20, 1}, paper_size[3] = {32768, 32768, 1};

enum { WEIGHT, IN, OUT };

static inline void describe(struct problem *p)
{
    input(p, WEIGHT, "weight", TAPS);
    input(p, IN, "in", points(p));
    output(p, OUT, "out", points(p));
    launch(p, "weights", dims(128, 1, 1), dims(p->nx - 2, p->ny - 2, 1), "pppii", WEIGHT, IN, OUT,
           p->nx, p->ny);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int j = 1; j < p->ny - 1; j++)
        for (int i = 1; i < p->nx - 1; i++) {
            double sum = 0;
            for (int n = 0; n < TAPS; n++)
                sum += (double)field[WEIGHT][n] *
                       (double)field[IN][at(p, i + n % 3 - 1, j + n / 3 - 1, 0)];
            field[OUT][at(p, i, j, 0)] = (real)sum;
        }
}

#endif

/* w2 = w0 + w1. */

#ifndef VECADD_H
#define VECADD_H

#include "../problem.h"

#define KERNELS(_) _(vecadd)

enum { DIMENSIONS = 1 };
static const int small_size[3] = {1000, 1, 1}, paper_size[3] = {1 << 30, 1, 1};

enum { W0, W1, W2 };

static inline void describe(struct problem *p)
{
    input(p, W0, "w0", points(p));
    input(p, W1, "w1", points(p));
    output(p, W2, "w2", points(p));
    launch(p, "vecadd", dims(128, 1, 1), dims(p->nx, 1, 1), "pppi", W0, W1, W2, p->nx);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (size_t n = 0; n < points(p); n++)
        field[W2][n] = field[W0][n] + field[W1][n];
}

#endif

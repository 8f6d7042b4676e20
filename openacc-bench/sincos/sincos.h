/* sin(x) + cos(y). */

#ifndef SINCOS_H
#define SINCOS_H

#include "../problem.h"

#define KERNELS(_) _(sincos_sum)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {386, 8, 1}, paper_size[3] = {32768, 32768, 1};

enum { X, Y, XY };

static inline void describe(struct problem *p)
{
    input(p, X, "x", points(p));
    input(p, Y, "y", points(p));
    output(p, XY, "xy", points(p));
    launch(p, "sincos_sum", dims(128, 1, 1), dims(p->nx, p->ny, 1), "pppii", X, Y, XY, p->nx,
           p->ny);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (size_t n = 0; n < points(p); n++)
        field[XY][n] = (real)(sin((double)field[X][n]) + cos((double)field[Y][n]));
}

#endif

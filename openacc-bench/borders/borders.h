/* A 3 x 3 cross on a whole plane, borders included: where an arm would leave the plane it is clamped to
 * the edge, comes back on the other side, or is left out. */

#ifndef BORDERS_H
#define BORDERS_H

#include "../problem.h"

#define KERNELS(_) _(borders_clamped) _(borders_periodic) _(borders_left_out)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {260, 20, 1}, paper_size[3] = {32768, 32768, 1};

enum { IN, CLAMPED, PERIODIC, LEFT_OUT };

/* Of the middle and of an arm. */
static const real MIDDLE = 0.5f, ARM = 0.125f;

/* What stands at a place that may lie one step outside of the plane. */
static inline real beyond(const struct problem *p, const real *in, int how, int i, int j)
{
    const int nx = p->nx, ny = p->ny, outside = i < 0 || j < 0 || i >= nx || j >= ny;

    if (how == LEFT_OUT && outside)
        return 0;
    if (how == PERIODIC)
        return in[at(p, (i + nx) % nx, (j + ny) % ny, 0)];
    return in[at(p, i < 0 ? 0 : i < nx ? i : nx - 1, j < 0 ? 0 : j < ny ? j : ny - 1, 0)];
}

static inline void describe(struct problem *p)
{
    input(p, IN, "in", points(p));
    output(p, CLAMPED, "clamped", points(p));
    output(p, PERIODIC, "periodic", points(p));
    output(p, LEFT_OUT, "left_out", points(p));
    launch(p, "borders_clamped", dims(128, 1, 1), dims(p->nx, p->ny, 1), "ppiirr", IN, CLAMPED, p->nx,
           p->ny, MIDDLE, ARM);
    launch(p, "borders_periodic", dims(128, 1, 1), dims(p->nx, p->ny, 1), "ppiirr", IN, PERIODIC,
           p->nx, p->ny, MIDDLE, ARM);
    launch(p, "borders_left_out", dims(128, 1, 1), dims(p->nx, p->ny, 1), "ppiirr", IN, LEFT_OUT,
           p->nx, p->ny, MIDDLE, ARM);
}

/* The plain CPU loop for one kind of border. */
static inline void cross(const struct problem *p, int how, const real *in, real *out)
{
    for (int j = 0; j < p->ny; j++)
        for (int i = 0; i < p->nx; i++) {
            const double row = (double)beyond(p, in, how, i - 1, j) + (double)beyond(p, in, how, i + 1, j);
            const double column =
                (double)beyond(p, in, how, i, j - 1) + (double)beyond(p, in, how, i, j + 1);
            const double sum = (double)MIDDLE * (double)in[at(p, i, j, 0)] + (double)ARM * (row + column);
            out[at(p, i, j, 0)] = (real)sum;
        }
}

static inline void reference(const struct problem *p, real *const field[])
{
    for (int how = CLAMPED; how <= LEFT_OUT; how++)
        cross(p, how, field[IN], field[how]);
}

#endif

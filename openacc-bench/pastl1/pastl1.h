/* 2-D filter with rows of 3 and of 5 taps, which the CUDA kernels load past the first-level cache:
 * the weight of a point is the product of those of its column and its row. OpenACC has no word for
 * such a load; there it is the compiler's option (`-Xptxas -dlcm=cg`). */

#ifndef PASTL1_H
#define PASTL1_H

#include "../problem.h"

#define KERNELS(_) _(pastl1_3) _(pastl1_5)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {260, 20, 1}, paper_size[3] = {32768, 32768, 1};

enum { IN, OUT3, OUT5 };

/* By the distance from the centre. */
static const real NEAR[2] = {0.5f, 0.25f}, FAR[3] = {0.4f, 0.2f, 0.1f};

static inline void describe(struct problem *p)
{
    input(p, IN, "in", points(p));
    output(p, OUT3, "out3", points(p));
    output(p, OUT5, "out5", points(p));
    launch(p, "pastl1_3", dims(128, 1, 1), dims(p->nx - 2, p->ny - 2, 1), "ppiirr", IN, OUT3, p->nx,
           p->ny, NEAR[0], NEAR[1]);
    launch(p, "pastl1_5", dims(128, 1, 1), dims(p->nx - 4, p->ny - 4, 1), "ppiirrr", IN, OUT5,
           p->nx, p->ny, FAR[0], FAR[1], FAR[2]);
}

/* The plain CPU loop for one radius. */
static inline void filter(const struct problem *p, int radius, const real *weight, const real *in,
                          real *out)
{
    for (int j = radius; j < p->ny - radius; j++)
        for (int i = radius; i < p->nx - radius; i++) {
            double sum = 0;
            for (int b = -radius; b <= radius; b++)
                for (int a = -radius; a <= radius; a++)
                    sum += (double)weight[abs(a)] * (double)weight[abs(b)] *
                           (double)in[at(p, i + a, j + b, 0)];
            out[at(p, i, j, 0)] = (real)sum;
        }
}

static inline void reference(const struct problem *p, real *const field[])
{
    filter(p, 1, NEAR, field[IN], field[OUT3]);
    filter(p, 2, FAR, field[IN], field[OUT5]);
}

#endif

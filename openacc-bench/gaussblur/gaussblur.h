/* 5 x 5 Gaussian blur: a weight for each squared distance (0, 1, 2, 4, 5, 8). */

#ifndef GAUSSBLUR_H
#define GAUSSBLUR_H

#include "../problem.h"

#define KERNELS(_) _(gaussblur)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {386, 8, 1}, paper_size[3] = {32768, 32768, 1};

enum { W0, W1 };

static const real S0 = 1.0f, S1 = 0.6f, S2 = 0.37f, S4 = 0.14f, S5 = 0.08f, S8 = 0.02f;

static inline void describe(struct problem *p)
{
    input(p, W0, "w0", points(p));
    output(p, W1, "w1", points(p));
    launch(p, "gaussblur", dims(128, 1, 1), dims(p->nx - 4, p->ny - 4, 1), "ppiirrrrrr", W0, W1,
           p->nx, p->ny, S0, S1, S2, S4, S5, S8);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const double weight[9] = {S0, S1, S2, 0, S4, S5, 0, 0, S8};
    const double scale = S0 + 4.0 * (S1 + S2 + S4 + S8) + 8.0 * S5;
    for (int j = 2; j < p->ny - 2; j++)
        for (int i = 2; i < p->nx - 2; i++) {
            double sum = 0;
            for (int dj = -2; dj <= 2; dj++)
                for (int di = -2; di <= 2; di++)
                    sum += weight[di * di + dj * dj] * field[W0][at(p, i + di, j + dj, 0)];
            field[W1][at(p, i, j, 0)] = (real)(sum / scale);
        }
}

#endif

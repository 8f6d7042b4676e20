/* 3-D 25-point Laplacian: C0 for the centre, C1 for the 6 points at distance 1, C2 for the 12 at
 * distance sqrt(2), C3 for the 6 at distance 2. */

#ifndef LAPGSRB_H
#define LAPGSRB_H

#include "../problem.h"

#define KERNELS(_) _(lapgsrb)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {512, 1024, 1024};

enum { W0, W1 };

static const real C0 = -3.5f, C1 = 0.35f, C2 = 0.12f, C3 = 0.04f;

static inline void describe(struct problem *p)
{
    input(p, W0, "w0", points(p));
    output(p, W1, "w1", points(p));
    launch(p, "lapgsrb", dims(128, 1, 1), dims(p->nx - 4, p->ny - 4, p->nz - 4), "ppiiirrrr", W0,
           W1, p->nx, p->ny, p->nz, C0, C1, C2, C3);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 2; k < p->nz - 2; k++)
        for (int j = 2; j < p->ny - 2; j++)
            for (int i = 2; i < p->nx - 2; i++) {
                double sum = C0 * (double)field[W0][at(p, i, j, k)];
                for (int dk = -2; dk <= 2; dk++)
                    for (int dj = -2; dj <= 2; dj++)
                        for (int di = -2; di <= 2; di++) {
                            const int squared = di * di + dj * dj + dk * dk;
                            const int axial = squared == abs(di + dj + dk) * abs(di + dj + dk);
                            const double weight = squared == 1            ? C1
                                                  : squared == 2          ? C2
                                                  : squared == 4 && axial ? C3
                                                                          : 0;
                            if (weight != 0)
                                sum += weight * field[W0][at(p, i + di, j + dj, k + dk)];
                        }
                field[W1][at(p, i, j, k)] = (real)sum;
            }
}

#endif

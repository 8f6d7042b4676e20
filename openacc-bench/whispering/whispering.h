/* Finite-difference time domain step of a whispering gallery resonator. */

#ifndef WHISPERING_H
#define WHISPERING_H

#include "../problem.h"

#define KERNELS(_) _(whispering)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {386, 8, 1}, paper_size[3] = {8192, 16384, 1};

enum { CA, CB, DA, DB, E0, E1, H, U, N0, N1, H1, U1 };

static const real MU = 1.5f, EPS = 0.8f;

static inline void describe(struct problem *p)
{
    input(p, CA, "ca", points(p));
    input(p, CB, "cb", points(p));
    input(p, DA, "da", points(p));
    input(p, DB, "db", points(p));
    input(p, E0, "e0", points(p));
    input(p, E1, "e1", points(p));
    input(p, H, "h", points(p));
    input(p, U, "u", points(p));
    output(p, N0, "n0", points(p));
    output(p, N1, "n1", points(p));
    output(p, H1, "h1", points(p));
    output(p, U1, "u1", points(p));
    launch(p, "whispering", dims(128, 1, 1), dims(p->nx, p->ny, 1), "ppppppppppppiirr", CA, CB, DA,
           DB, E0, E1, H, U, N0, N1, H1, U1, p->nx, p->ny, MU, EPS);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const real *h = field[H];
    for (int j = 1; j < p->ny - 1; j++)
        for (int i = 1; i < p->nx - 1; i++) {
            const size_t here = at(p, i, j, 0), left = here - 1, below = here - p->nx;
            const double n0 = (double)field[CA][here] * field[E0][here] +
                              (double)field[CB][here] * ((double)h[here + p->nx] - h[here]);
            const double n1 = (double)field[CA][here] * field[E1][here] -
                              (double)field[CB][here] * ((double)h[here + 1] - h[here]);
            const double ey = (double)field[CA][below] * field[E0][below] +
                              (double)field[CB][below] * ((double)h[here] - h[below]);
            const double ex = (double)field[CA][left] * field[E1][left] -
                              (double)field[CB][left] * ((double)h[here] - h[left]);
            const double h1 =
                (double)field[DA][here] * h[here] + (double)field[DB][here] * (n0 - ey + ex - n1);
            field[N0][here] = (real)n0;
            field[N1][here] = (real)n1;
            field[H1][here] = (real)h1;
            field[U1][here] =
                (real)((double)field[U][here] + 0.5 * (h1 * h1 / MU + EPS * (n0 * n0 + n1 * n1)));
        }
}

#endif

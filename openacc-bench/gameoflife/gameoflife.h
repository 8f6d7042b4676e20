/* Conway's Game of Life in floating point. */

#ifndef GAMEOFLIFE_H
#define GAMEOFLIFE_H

#include "../problem.h"

#define KERNELS(_) _(gameoflife)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {386, 8, 1}, paper_size[3] = {32768, 32768, 1};

enum { W0, W1 };

static inline void describe(struct problem *p)
{
    array(p, W0, "w0", points(p), INPUT, BITS);
    output(p, W1, "w1", points(p));
    launch(p, "gameoflife", dims(128, 1, 1), dims(p->nx, p->ny, 1), "ppii", W0, W1, p->nx, p->ny);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int j = 1; j < p->ny - 1; j++)
        for (int i = 1; i < p->nx - 1; i++) {
            const double alive = field[W0][at(p, i, j, 0)];
            double around = -alive;
            for (int dj = -1; dj <= 1; dj++)
                for (int di = -1; di <= 1; di++)
                    around += field[W0][at(p, i + di, j + dj, 0)];
            /* 1 where the rule keeps or creates life, almost nothing elsewhere. */
            const int lives = around == 3 || (alive == 1 && around == 2);
            field[W1][at(p, i, j, 0)] = lives ? 1 : 0;
        }
}

#endif

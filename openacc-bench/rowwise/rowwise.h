/* The roughness of each row of a matrix: the sum of the squares of its second differences. A thread
 * for each row, so that neighbouring lanes are a row apart and a lane walks along its own. */

#ifndef ROWWISE_H
#define ROWWISE_H

#include "../problem.h"

#define KERNELS(_) _(rowwise)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {37, 260, 1}, paper_size[3] = {32768, 32768, 1};

enum { A, ROUGHNESS };

static inline void describe(struct problem *p)
{
    input(p, A, "a", points(p));
    output(p, ROUGHNESS, "roughness", (size_t)p->ny);
    launch(p, "rowwise", dims(128, 1, 1), dims(p->ny, 1, 1), "ppii", A, ROUGHNESS, p->nx, p->ny);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int j = 0; j < p->ny; j++) {
        double sum = 0;
        for (int i = 1; i < p->nx - 1; i++) {
            const double bend = (double)field[A][at(p, i - 1, j, 0)] -
                                2 * (double)field[A][at(p, i, j, 0)] +
                                (double)field[A][at(p, i + 1, j, 0)];
            sum += bend * bend;
        }
        field[ROUGHNESS][j] = (real)sum;
    }
}

#endif

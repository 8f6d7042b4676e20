/* C(i,j) += A(i,k) * B(k,j) for square matrices; n is a multiple of 4. */

#ifndef MATMUL_H
#define MATMUL_H

#include "../problem.h"

#define KERNELS(_) _(matmul)

enum { DIMENSIONS = 1 };
static const int small_size[3] = {64, 1, 1}, paper_size[3] = {32768, 1, 1};

enum { A, B, C };

static inline void describe(struct problem *p)
{
    const int n = p->nx -= p->nx % 4;
    input(p, A, "a", (size_t)n * n);
    input(p, B, "b", (size_t)n * n);
    output(p, C, "c", (size_t)n * n);
    launch(p, "matmul", dims(128, 1, 1), dims(n, n, 1), "pppi", A, B, C, n);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const size_t n = (size_t)p->nx;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += (double)field[A][k * n + i] * (double)field[B][j * n + k];
            field[C][j * n + i] = (real)sum;
        }
}

#endif

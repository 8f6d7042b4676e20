#include "conv1d.h"

#define PRAGMA(...) _Pragma(#__VA_ARGS__)

#define RADIUS(r)                                                                                  \
    static void radius_##r(const struct problem *p, real *const field[])                           \
    {                                                                                              \
        const int n = p->nx;                                                                       \
        const real *x = field[X];                                                                  \
        const real *w = field[W];                                                                  \
        real *y = field[Y + r - 1];                                                                \
                                                                                                   \
        PRAGMA(acc parallel loop gang vector vector_length(128)                                    \
               present(x[0:n], w[0:MOST + MOST + 1], y[0:n]))                                      \
        for (int i = r; i < n - r; i++) {                                                          \
            float sum = 0.0f;                                                                      \
            PRAGMA(acc loop seq)                                                                   \
            for (int k = 0; k <= 2 * r; k++)                                                       \
                sum += w[k] * x[i - r + k];                                                        \
            y[i] = sum;                                                                            \
        }                                                                                          \
    }

RADIUS(1)
RADIUS(2)
RADIUS(3)
RADIUS(4)
RADIUS(5)
RADIUS(6)
RADIUS(7)
RADIUS(8)
RADIUS(9)
RADIUS(10)
RADIUS(11)
RADIUS(12)
RADIUS(13)
RADIUS(14)
RADIUS(15)

static void run(const struct problem *p, real *const field[])
{
    radius_1(p, field);
    radius_2(p, field);
    radius_3(p, field);
    radius_4(p, field);
    radius_5(p, field);
    radius_6(p, field);
    radius_7(p, field);
    radius_8(p, field);
    radius_9(p, field);
    radius_10(p, field);
    radius_11(p, field);
    radius_12(p, field);
    radius_13(p, field);
    radius_14(p, field);
    radius_15(p, field);
}

#include "../openacc.h"

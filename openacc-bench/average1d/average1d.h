/* Moving average: y(i) = mean of x(i - r) .. x(i + r), for radius r from 1 to 15. Each radius is a
 * kernel of its own with an output of its own. */

#ifndef AVERAGE1D_H
#define AVERAGE1D_H

#include "../problem.h"

#define KERNELS(_)                                                                            \
    _(average1d_1)                                                                            \
    _(average1d_2) _(average1d_3) _(average1d_4) _(average1d_5) _(average1d_6) _(average1d_7) \
        _(average1d_8) _(average1d_9) _(average1d_10) _(average1d_11) _(average1d_12)         \
            _(average1d_13) _(average1d_14) _(average1d_15)

enum { DIMENSIONS = 1, MOST = 15 };
static const int small_size[3] = {1030, 1, 1}, paper_size[3] = {1 << 26, 1, 1};

/* The output for radius r is number Y + r - 1. */
enum { X, Y };

static inline void describe(struct problem *p)
{
    static const char *const names[MOST][2] = {
#define NAMES(r) {"y" #r, "average1d_" #r}
        NAMES(1), NAMES(2),  NAMES(3),  NAMES(4),  NAMES(5),  NAMES(6),  NAMES(7),  NAMES(8),
        NAMES(9), NAMES(10), NAMES(11), NAMES(12), NAMES(13), NAMES(14), NAMES(15),
#undef NAMES
    };
    input(p, X, "x", points(p));
    for (int r = 1; r <= MOST; r++) {
        output(p, Y + r - 1, names[r - 1][0], points(p));
        launch(p, names[r - 1][1], dims(128, 1, 1), dims(p->nx - 2 * r, 1, 1), "ppi", X, Y + r - 1,
               p->nx);
    }
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int r = 1; r <= MOST; r++)
        for (int i = r; i < p->nx - r; i++) {
            double sum = 0;
            for (int k = -r; k <= r; k++)
                sum += field[X][i + k];
            field[Y + r - 1][i] = (real)(sum / (2 * r + 1));
        }
}

#endif

/* Arrays of structs of 3, 4 and 8 words: a thread for each struct, which it reads word by word.
 *
 * - structs3: the squared length of a vector (x, y, z);
 * - structs4: the pressure of a gas from density and momentum and energy (two dimensions);
 * - structs8: the lift of a wing section, a sum of products of its eight coefficients with powers
 *   of the angle.
 */

#ifndef STRUCTS_H
#define STRUCTS_H

#include "../problem.h"

#define KERNELS(_) _(structs3) _(structs4) _(structs8)

enum { DIMENSIONS = 1 };
static const int small_size[3] = {1030, 1, 1}, paper_size[3] = {1 << 25, 1, 1};

enum { VECTORS, STATES, SECTIONS, LENGTHS, PRESSURES, LIFTS };

static const real GAMMA = 1.4f, ANGLE = 0.3f;

static inline void describe(struct problem *p)
{
    const struct dims block = dims(128, 1, 1), threads = dims(p->nx, 1, 1);
    input(p, VECTORS, "vectors", 3 * points(p));
    input(p, STATES, "states", 4 * points(p));
    input(p, SECTIONS, "sections", 8 * points(p));
    output(p, LENGTHS, "lengths", points(p));
    output(p, PRESSURES, "pressures", points(p));
    output(p, LIFTS, "lifts", points(p));
    launch(p, "structs3", block, threads, "ppi", VECTORS, LENGTHS, p->nx);
    launch(p, "structs4", block, threads, "ppir", STATES, PRESSURES, p->nx, GAMMA);
    launch(p, "structs8", block, threads, "ppir", SECTIONS, LIFTS, p->nx, ANGLE);
}

/* The plain CPU loops. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int n = 0; n < p->nx; n++) {
        const real *v = field[VECTORS] + 3 * (size_t)n, *s = field[STATES] + 4 * (size_t)n,
                   *c = field[SECTIONS] + 8 * (size_t)n;
        double length = 0, lift = 0;
        for (int d = 0; d < 3; d++)
            length += (double)v[d] * (double)v[d];
        for (int d = 7; d >= 0; d--)
            lift = lift * ANGLE + (double)c[d];
        field[LENGTHS][n] = (real)length;
        field[PRESSURES][n] =
            (real)((GAMMA - 1.0) *
                   ((double)s[3] -
                    0.5 * ((double)s[1] * s[1] + (double)s[2] * s[2]) / (double)s[0]));
        field[LIFTS][n] = (real)lift;
    }
}

#endif

/* 2-D 3 x 3 filter over a picture of bytes and over one of halves, in single precision: the
 * centre, its neighbours in a row and in a column, and the corners have a weight each. */

#ifndef NARROW_H
#define NARROW_H

#include "../problem.h"

#define KERNELS(_) _(bytes) _(halves)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {258, 20, 1}, paper_size[3] = {32768, 32768, 1};

enum { PICTURE, HEIGHTS, BLURRED, SMOOTHED };

static const real W0 = 0.25f, W1 = 0.125f, W2 = 0.0625f;

static inline void describe(struct problem *p)
{
    const struct dims block = dims(128, 1, 1), threads = dims(p->nx - 2, p->ny - 2, 1);
    input_of(p, PICTURE, "picture", points(p), BYTES);
    input_of(p, HEIGHTS, "heights", points(p), HALVES);
    output(p, BLURRED, "blurred", points(p));
    output(p, SMOOTHED, "smoothed", points(p));
    launch(p, "bytes", block, threads, "ppiirrr", PICTURE, BLURRED, p->nx, p->ny, W0, W1, W2);
    launch(p, "halves", block, threads, "ppiirrr", HEIGHTS, SMOOTHED, p->nx, p->ny, W0, W1, W2);
}

/* The number that the bits of a finite half stand for: its exponent is biased by 15, that of a
 * float by 127. */
#ifdef _OPENACC
#pragma acc routine seq
#endif
static inline float widened(unsigned short half)
{
    union {
        unsigned bits;
        float number;
    } both;
    both.bits = (half & 0x7fffu) << 13 | (half & 0x8000u) << 16;
    return both.number * 0x1p112f;
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const unsigned char *picture = (const unsigned char *)field[PICTURE];
    const unsigned short *heights = (const unsigned short *)field[HEIGHTS];
    const double weight[3] = {W0, W1, W2};
    for (int j = 1; j < p->ny - 1; j++)
        for (int i = 1; i < p->nx - 1; i++) {
            double blurred = 0, smoothed = 0;
            for (int b = -1; b <= 1; b++)
                for (int a = -1; a <= 1; a++) {
                    const size_t there = at(p, i + a, j + b, 0);
                    blurred += weight[abs(a) + abs(b)] * picture[there];
                    smoothed += weight[abs(a) + abs(b)] * widened(heights[there]);
                }
            field[BLURRED][at(p, i, j, 0)] = (real)blurred;
            field[SMOOTHED][at(p, i, j, 0)] = (real)smoothed;
        }
}

#endif

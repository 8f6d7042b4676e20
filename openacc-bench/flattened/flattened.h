/* 2-D kernels on launches of one dimension, in which a thread finds its row by a division: a cross on
 * a plane in a frame; the gradient and the Laplacian, written to three arrays that might overlap the input for all the compiler
 * knows; and a filter of pixels of four bytes, which are read as words and as bytes. */

#ifndef FLATTENED_H
#define FLATTENED_H

#include "../problem.h"

#define KERNELS(_) _(flattened_cross) _(flattened_gradient) _(flattened_pixels)

enum { DIMENSIONS = 2 };
static const int small_size[3] = {94, 20, 1}, paper_size[3] = {32768, 32768, 1};

enum { FRAMED, IN, PICTURE, SMOOTHED, ALONG, ACROSS, LAPLACIAN, GREY };

/* Of the middle and of an arm. */
static const real MIDDLE = 0.5f, ARM = 0.125f;

/* Points of a plane with a frame of one point around it. */
static inline size_t framed(const struct problem *p)
{
    return (size_t)(p->nx + 2) * (p->ny + 2);
}

static inline void describe(struct problem *p)
{
    const struct dims block = dims(128, 1, 1), threads = dims(p->nx * p->ny, 1, 1);
    input(p, FRAMED, "framed", framed(p));
    input(p, IN, "in", points(p));
    input_of(p, PICTURE, "picture", 4 * points(p), BYTES);
    output(p, SMOOTHED, "smoothed", points(p));
    output(p, ALONG, "along", points(p));
    output(p, ACROSS, "across", points(p));
    output(p, LAPLACIAN, "laplacian", points(p));
    output(p, GREY, "grey", points(p));
    launch(p, "flattened_cross", block, threads, "ppiirr", FRAMED, SMOOTHED, p->nx, p->ny, MIDDLE, ARM);
    launch(p, "flattened_gradient", block, threads, "ppppii", IN, ALONG, ACROSS, LAPLACIAN, p->nx,
           p->ny);
    launch(p, "flattened_pixels", block, threads, "ppiirr", PICTURE, GREY, p->nx, p->ny, MIDDLE, ARM);
}

/* The plain CPU loop. */
static inline void reference(const struct problem *p, real *const field[])
{
    const real *in = field[IN];
    const unsigned char *picture = (const unsigned char *)field[PICTURE];
    for (int j = 0; j < p->ny; j++)
        for (int i = 0; i < p->nx; i++) {
            const real *middle = field[FRAMED] + (size_t)(j + 1) * (p->nx + 2) + i + 1;
            const double arms = (double)middle[-1] + (double)middle[1] +
                                (double)middle[-p->nx - 2] + (double)middle[p->nx + 2];
            field[SMOOTHED][at(p, i, j, 0)] = (real)(MIDDLE * (double)*middle + ARM * arms);
        }
    for (int j = 1; j < p->ny - 1; j++)
        for (int i = 1; i < p->nx - 1; i++) {
            const size_t here = at(p, i, j, 0);
            const double west = in[here - 1], east = in[here + 1], middle = in[here];
            const double north = in[here - p->nx], south = in[here + p->nx];
            const unsigned char *pixel = picture + 4 * here;
            field[ALONG][here] = (real)(0.5 * (east - west));
            field[ACROSS][here] = (real)(0.5 * (south - north));
            field[LAPLACIAN][here] = (real)(west + east + north + south - 4 * middle);
            field[GREY][here] =
                (real)(MIDDLE * (pixel[0] + pixel[1] + pixel[2]) + ARM * (pixel[-3] + pixel[5]));
        }
}

#endif

#include "narrow.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const unsigned char *picture = (const unsigned char *)field[PICTURE];
    const unsigned short *heights = (const unsigned short *)field[HEIGHTS];
    real *blurred = field[BLURRED], *smoothed = field[SMOOTHED];

#pragma acc parallel loop gang vector_length(128) present(picture[0 : n], blurred[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
            const unsigned char *at = picture + (size_t)j * nx + i;
            const unsigned char *before = at - nx, *behind = at + nx;
            blurred[(size_t)j * nx + i] =
                W2 * (float)(before[-1] + before[1] + behind[-1] + behind[1]) +
                W1 * (float)(at[-1] + at[1] + before[0] + behind[0]) + W0 * (float)at[0];
        }
    }

#pragma acc parallel loop gang vector_length(128) present(heights[0 : n], smoothed[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
            const unsigned short *at = heights + (size_t)j * nx + i;
            const unsigned short *before = at - nx, *behind = at + nx;
            smoothed[(size_t)j * nx + i] =
                W2 * (widened(before[-1]) + widened(before[1]) + widened(behind[-1]) +
                      widened(behind[1])) +
                W1 * (widened(at[-1]) + widened(at[1]) + widened(before[0]) + widened(behind[0])) +
                W0 * widened(at[0]);
        }
    }
}

#include "../openacc.h"

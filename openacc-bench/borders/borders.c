#include "borders.h"

static void clamped(const struct problem *p, const real *in, real *out)
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);

#pragma acc parallel loop gang vector_length(128) present(in[0 : n], out[0 : n])
    for (int j = 0; j < ny; j++) {
#pragma acc loop vector
        for (int i = 0; i < nx; i++) {
            const int before = i > 0 ? i - 1 : 0, behind = i < nx - 1 ? i + 1 : nx - 1;
            const int above = j > 0 ? j - 1 : 0, below = j < ny - 1 ? j + 1 : ny - 1;
            out[(size_t)j * nx + i] =
                MIDDLE * in[(size_t)j * nx + i] +
                ARM * (in[(size_t)j * nx + before] + in[(size_t)j * nx + behind] +
                       (in[(size_t)above * nx + i] + in[(size_t)below * nx + i]));
        }
    }
}

static void periodic(const struct problem *p, const real *in, real *out)
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);

#pragma acc parallel loop gang vector_length(128) present(in[0 : n], out[0 : n])
    for (int j = 0; j < ny; j++) {
#pragma acc loop vector
        for (int i = 0; i < nx; i++) {
            const int before = (i + nx - 1) % nx, behind = (i + 1) % nx;
            const int above = (j + ny - 1) % ny, below = (j + 1) % ny;
            out[(size_t)j * nx + i] =
                MIDDLE * in[(size_t)j * nx + i] +
                ARM * (in[(size_t)j * nx + before] + in[(size_t)j * nx + behind] +
                       (in[(size_t)above * nx + i] + in[(size_t)below * nx + i]));
        }
    }
}

static void left_out(const struct problem *p, const real *in, real *out)
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);

#pragma acc parallel loop gang vector_length(128) present(in[0 : n], out[0 : n])
    for (int j = 0; j < ny; j++) {
#pragma acc loop vector
        for (int i = 0; i < nx; i++) {
            const real *at = in + (size_t)j * nx + i;
            float sum = 0;
            if (i > 0)
                sum += at[-1];
            if (i < nx - 1)
                sum += at[1];
            if (j > 0)
                sum += at[-nx];
            if (j < ny - 1)
                sum += at[nx];
            out[(size_t)j * nx + i] = MIDDLE * at[0] + ARM * sum;
        }
    }
}

static void run(const struct problem *p, real *const field[])
{
    clamped(p, field[IN], field[CLAMPED]);
    periodic(p, field[IN], field[PERIODIC]);
    left_out(p, field[IN], field[LEFT_OUT]);
}

#include "../openacc.h"

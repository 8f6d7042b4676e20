#include "flattened.h"

/* Whether a point of the flattened plane lies inside of it. */
#pragma acc routine seq
static int inside(int here, int nx, int ny)
{
    const int i = here % nx, j = here / nx;
    return i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
}

static void cross(const struct problem *p, const real *in, real *out)
{
    const int nx = p->nx, ny = p->ny, pitch = nx + 2;
    const size_t n = points(p), all = framed(p);

#pragma acc parallel loop gang vector vector_length(128) present(in[0 : all], out[0 : n])
    for (int here = 0; here < nx * ny; here++) {
        const real *at = in + (size_t)(here / nx + 1) * pitch + here % nx + 1;
        out[here] = MIDDLE * at[0] + ARM * (at[-1] + at[1] + (at[-pitch] + at[pitch]));
    }
}

static void gradient(const struct problem *p, const real *in, real *along, real *across,
                     real *laplacian)
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);

#pragma acc parallel loop gang vector vector_length(128) \
    present(in[0 : n], along[0 : n], across[0 : n], laplacian[0 : n])
    for (int here = 0; here < nx * ny; here++)
        if (inside(here, nx, ny)) {
            const real *at = in + here;
            along[here] = 0.5f * (at[1] - at[-1]);
            across[here] = 0.5f * (at[nx] - at[-nx]);
            laplacian[here] = at[1] + at[-1] + (at[nx] + at[-nx]) - 4 * at[0];
        }
}

static void pixels(const struct problem *p, const unsigned char *in, real *out)
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);

#pragma acc parallel loop gang vector vector_length(128) present(in[0 : 4 * n], out[0 : n])
    for (int here = 0; here < nx * ny; here++)
        if (inside(here, nx, ny)) {
            const unsigned char *pixel = in + 4 * (size_t)here;
            out[here] =
                MIDDLE * (pixel[0] + pixel[1] + pixel[2]) + ARM * (pixel[-3] + pixel[5]);
        }
}

static void run(const struct problem *p, real *const field[])
{
    cross(p, field[FRAMED], field[SMOOTHED]);
    gradient(p, field[IN], field[ALONG], field[ACROSS], field[LAPLACIAN]);
    pixels(p, (const unsigned char *)field[PICTURE], field[GREY]);
}

#include "../openacc.h"

#include "march7.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *restrict in = field[IN];
    real *restrict out = field[OUT];
    const size_t plane = (size_t)nx * ny;

#pragma acc parallel loop gang vector_length(128) present(in[0 : n], out[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
#pragma acc loop seq
            for (int k = 1; k < nz - 1; k++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                out[at] = AROUND * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] +
                                    in[at - plane] + in[at + plane]) +
                          CENTRE * in[at];
            }
        }
    }
}

#include "../openacc.h"

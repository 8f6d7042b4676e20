#include "march27.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *restrict in = field[IN];
    real *restrict out = field[OUT];

#pragma acc parallel loop gang vector_length(128) present(in[0 : n], out[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
#pragma acc loop seq
            for (int k = 1; k < nz - 1; k++) {
                float sum = 0;
#pragma acc loop seq
                for (int c = -1; c <= 1; c++) {
                    const real *plane = in + ((size_t)(k + c) * ny + j) * nx + i;
                    const real *before = plane - nx, *behind = plane + nx;
                    const float centre = c ? C1 : C0, edge = c ? C2 : C1, corner = c ? C3 : C2;
                    sum += corner * (before[-1] + before[1] + behind[-1] + behind[1]) +
                           edge * (before[0] + plane[-1] + plane[1] + behind[0]) +
                           centre * plane[0];
                }
                out[((size_t)k * ny + j) * nx + i] = sum;
            }
        }
    }
}

#include "../openacc.h"

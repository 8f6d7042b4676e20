#include "tricubic.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const size_t n = points(p);
    const real *u0 = field[U0];
    const real *a = field[A];
    const real *b = field[B];
    const real *c = field[C];
    real *u1 = field[U1];
    const float sixth = 1.0f / 6.0f;

#pragma acc parallel loop gang collapse(2) vector_length(128) \
    present(u0[0 : n], a[0 : n], b[0 : n], c[0 : n], u1[0 : n])
    for (int k = 1; k < nz - 2; k++)
        for (int j = 1; j < ny - 2; j++) {
#pragma acc loop vector
            for (int i = 1; i < nx - 2; i++) {
                const size_t at = ((size_t)k * ny + j) * nx + i;
                const float xa = a[at], xb = b[at], xc = c[at];
                const float a0 = -(xa - 1.0f) * xa * (xa - 2.0f) * sixth;
                const float a1 = (xa - 1.0f) * (xa + 1.0f) * (xa - 2.0f) * 0.5f;
                const float a2 = -xa * (xa + 1.0f) * (xa - 2.0f) * 0.5f;
                const float a3 = xa * (xa - 1.0f) * (xa + 1.0f) * sixth;
                const float b0 = -(xb - 1.0f) * xb * (xb - 2.0f) * sixth;
                const float b1 = (xb - 1.0f) * (xb + 1.0f) * (xb - 2.0f) * 0.5f;
                const float b2 = -xb * (xb + 1.0f) * (xb - 2.0f) * 0.5f;
                const float b3 = xb * (xb - 1.0f) * (xb + 1.0f) * sixth;
                const float c0 = -(xc - 1.0f) * xc * (xc - 2.0f) * sixth;
                const float c1 = (xc - 1.0f) * (xc + 1.0f) * (xc - 2.0f) * 0.5f;
                const float c2 = -xc * (xc + 1.0f) * (xc - 2.0f) * 0.5f;
                const float c3 = xc * (xc - 1.0f) * (xc + 1.0f) * sixth;
#define U(di, dj, dk) u0[((size_t)(k + (dk)) * ny + (j + (dj))) * nx + i + (di)]
#define ROW(dj, dk) (a0 * U(-1, dj, dk) + a1 * U(0, dj, dk) + a2 * U(1, dj, dk) + a3 * U(2, dj, dk))
#define PLANE(dk) (b0 * ROW(-1, dk) + b1 * ROW(0, dk) + b2 * ROW(1, dk) + b3 * ROW(2, dk))
                u1[at] = c0 * PLANE(-1) + c1 * PLANE(0) + c2 * PLANE(1) + c3 * PLANE(2);
#undef PLANE
#undef ROW
#undef U
            }
        }
}

#include "../openacc.h"

#include "whispering.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny;
    const size_t n = points(p);
    const real *ca = field[CA];
    const real *cb = field[CB];
    const real *da = field[DA];
    const real *db = field[DB];
    const real *e0 = field[E0];
    const real *e1 = field[E1];
    const real *h = field[H];
    const real *u = field[U];
    real *n0 = field[N0];
    real *n1 = field[N1];
    real *h1 = field[H1];
    real *u1 = field[U1];

#pragma acc parallel loop gang vector_length(128)                                                 \
    present(ca[0 : n], cb[0 : n], da[0 : n], db[0 : n], e0[0 : n], e1[0 : n], h[0 : n], u[0 : n], \
            n0[0 : n], n1[0 : n], h1[0 : n], u1[0 : n])
    for (int j = 1; j < ny - 1; j++) {
#pragma acc loop vector
        for (int i = 1; i < nx - 1; i++) {
            const size_t at = (size_t)j * nx + i;
            const float v0 = ca[at] * e0[at] + cb[at] * (h[at + nx] - h[at]);
            const float v1 = ca[at] * e1[at] - cb[at] * (h[at + 1] - h[at]);
            n0[at] = v0;
            n1[at] = v1;
            const float ey = ca[at - nx] * e0[at - nx] + cb[at - nx] * (h[at] - h[at - nx]);
            const float ex = ca[at - 1] * e1[at - 1] - cb[at - 1] * (h[at] - h[at - 1]);
            const float next = da[at] * h[at] + db[at] * (v0 - ey + ex - v1);
            h1[at] = next;
            u1[at] = u[at] + 0.5f * (next * next / MU + EPS * (v0 * v0 + v1 * v1));
        }
    }
}

#include "../openacc.h"

/* Right-hand side of the elastic wave equation in an isotropic medium,
 *
 *     rho d2u/dt2 = div(sigma),   sigma = lambda div(u) I + mu (grad(u) + grad(u)^T),
 *
 * to 4th order: second derivatives with a variable coefficient by the narrow operator that
 * satisfies summation by parts (Sjoegreen and Petersson, J. Sci. Comput. 52, 2012), mixed ones by
 * central differences applied twice. Each coordinate x is stretched: d/dx becomes s(x) d/dx. The
 * result is added to KEEP times the old one. Arrays in double precision; the components of u and of
 * the result follow each other as in Fortran's u(i,j,k,c).
 */

#ifndef RHS4_H
#define RHS4_H

#define REAL double
#include "../problem.h"

#define KERNELS(_) _(rhs4)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 7, 6}, paper_size[3] = {300, 300, 300};

enum { MU, LAMBDA, UP, STRETCH_X, STRETCH_Y, STRETCH_Z, LU };

/* Weight of the old result; 1 / (square of the spacing). */
static const real KEEP = 0.5, COF = 4.0;

static inline void describe(struct problem *p)
{
    input(p, MU, "mu", points(p));
    input(p, LAMBDA, "lambda", points(p));
    input(p, UP, "u", 3 * points(p));
    input(p, STRETCH_X, "stretch_x", (size_t)p->nx);
    input(p, STRETCH_Y, "stretch_y", (size_t)p->ny);
    input(p, STRETCH_Z, "stretch_z", (size_t)p->nz);
    output(p, LU, "lu", 3 * points(p));
    launch(p, "rhs4", dims(128, 1, 1), dims(p->nx - 4, p->ny - 4, p->nz - 4), "pppppppiiirr", MU,
           LAMBDA, UP, STRETCH_X, STRETCH_Y, STRETCH_Z, LU, p->nx, p->ny, p->nz, KEEP, COF);
}

/* d/dx_a (s c d/dx_a u) at a point, without the factor 1 / (6 h^2): s and c, u and its offset. */
static inline double narrow(const struct problem *p, real *const field[], int i, int j, int k,
                            int axis, double mu, double lambda, const real *u)
{
    double c[5], v[5];
    const int place[3] = {i, j, k};
    for (int n = -2; n <= 2; n++) {
        const size_t there = beside(p, i, j, k, axis, n);
        c[n + 2] = field[STRETCH_X + axis][place[axis] + n] *
                   (mu * field[MU][there] + lambda * field[LAMBDA][there]);
        v[n + 2] = u[there] - u[at(p, i, j, k)];
    }
    return field[STRETCH_X + axis][place[axis]] *
           ((c[1] - 0.75 * (c[2] + c[0])) * v[0] + (c[0] + c[3] + 3 * (c[2] + c[1])) * v[1] +
            (c[1] + c[4] + 3 * (c[3] + c[2])) * v[3] + (c[3] - 0.75 * (c[2] + c[4])) * v[4]);
}

/* d/dx_a (coefficient d/dx_b u), without the factor 1 / (144 h^2). */
static inline double mixed(const struct problem *p, int i, int j, int k, int a, int b,
                           const real *coefficient, const real *u)
{
    static const double weight[5] = {1, -8, 0, 8, -1};
    double sum = 0;
    for (int m = -2; m <= 2; m++)
        for (int n = -2; n <= 2; n++) {
            const int step[3] = {(a == 0) * m + (b == 0) * n, (a == 1) * m + (b == 1) * n,
                                 (a == 2) * m + (b == 2) * n};
            if (m && n)
                sum += weight[m + 2] * weight[n + 2] * coefficient[beside(p, i, j, k, a, m)] *
                       u[at(p, i + step[0], j + step[1], k + step[2])];
        }
    return sum;
}

/* The plain CPU loop: the equation, component by component. */
static inline void reference(const struct problem *p, real *const field[])
{
    for (int k = 2; k < p->nz - 2; k++)
        for (int j = 2; j < p->ny - 2; j++)
            for (int i = 2; i < p->nx - 2; i++) {
                const double stretch[3] = {field[STRETCH_X][i], field[STRETCH_Y][j],
                                           field[STRETCH_Z][k]};
                for (int c = 0; c < 3; c++) {
                    double straight = 0, crossed = 0;
                    for (int a = 0; a < 3; a++) {
                        straight += narrow(p, field, i, j, k, a, a == c ? 2 : 1, a == c,
                                           field[UP] + c * points(p));
                        if (a != c)
                            crossed +=
                                stretch[a] * stretch[c] *
                                (mixed(p, i, j, k, c, a, field[LAMBDA], field[UP] + a * points(p)) +
                                 mixed(p, i, j, k, a, c, field[MU], field[UP] + a * points(p)));
                    }
                    real *result = &field[LU][c * points(p) + at(p, i, j, k)];
                    *result = KEEP * *result + COF * (straight / 6 + crossed / 144);
                }
            }
}

#endif

/* Derivatives on a curvilinear grid (xi, eta, zeta), order 4: the acceleration from the stress, and
 * the rate of strain from the velocity,
 *
 *     rho J a_n = sum over d of D_d( sum over m of M_dm sigma_mn ),
 *     e_nm = (g_nm + g_mn) / 2,   J g_nm = sum over d of M_dm D_d v_n,
 *
 * with the metric M_dm = J d(xi_d)/d(x_m), the Jacobian J, and central differences D_d. Arrays in
 * single precision; components follow each other as in Fortran's sigma(i,j,k,c). Those of symmetric
 * tensors are xx, yy, zz, xy, xz, yz; of the metric, M_dm is number 3 d + m.
 */

#ifndef CURVILINEAR_H
#define CURVILINEAR_H

#include "../problem.h"

#define KERNELS(_) _(curvilinear)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 7, 6}, paper_size[3] = {300, 300, 300};

enum { METRIC, JACOBIAN, DENSITY, STRESS, VELOCITY, ACCELERATION, STRAIN };

/* 1 / (spacing of the grid). */
static const real SCALE = 8.0f;

static inline void describe(struct problem *p)
{
    input(p, METRIC, "metric", 9 * points(p));
    input(p, JACOBIAN, "jacobian", points(p));
    input(p, DENSITY, "density", points(p));
    input(p, STRESS, "stress", 6 * points(p));
    input(p, VELOCITY, "velocity", 3 * points(p));
    output(p, ACCELERATION, "acceleration", 3 * points(p));
    output(p, STRAIN, "strain", 6 * points(p));
    launch(p, "curvilinear", dims(128, 1, 1), dims(p->nx - 4, p->ny - 4, p->nz - 4), "pppppppiiir",
           METRIC, JACOBIAN, DENSITY, STRESS, VELOCITY, ACCELERATION, STRAIN, p->nx, p->ny, p->nz,
           SCALE);
}

/* Which component of a symmetric tensor is (m, n). */
static inline int symmetric(int m, int n)
{
    return m == n ? m : m + n + 2;
}

/* The plain CPU loop: the equations, index by index. */
static inline void reference(const struct problem *p, real *const field[])
{
    static const double weight[5] = {1.0 / 12, -8.0 / 12, 0, 8.0 / 12, -1.0 / 12};
    const size_t size = points(p);
    for (int k = 2; k < p->nz - 2; k++)
        for (int j = 2; j < p->ny - 2; j++)
            for (int i = 2; i < p->nx - 2; i++) {
                const size_t here = at(p, i, j, k);
                double a[3] = {0}, g[3][3] = {{0}};
                for (int d = 0; d < 3; d++)
                    for (int steps = -2; steps <= 2; steps++)
                        for (int m = 0; m < 3; m++)
                            for (int n = 0; n < 3; n++) {
                                const size_t there = beside(p, i, j, k, d, steps);
                                const real *metric = field[METRIC] + (3 * d + m) * size;
                                const double w = weight[steps + 2];
                                a[n] += w * metric[there] *
                                        field[STRESS][symmetric(m, n) * size + there];
                                g[n][m] += w * metric[here] * field[VELOCITY][n * size + there];
                            }
                for (int n = 0; n < 3; n++) {
                    const double mass = (double)field[DENSITY][here] * field[JACOBIAN][here];
                    field[ACCELERATION][n * size + here] = (real)(SCALE * a[n] / mass);
                    for (int m = 0; m <= n; m++)
                        field[STRAIN][symmetric(m, n) * size + here] =
                            (real)(SCALE * 0.5 * (g[n][m] + g[m][n]) / field[JACOBIAN][here]);
                }
            }
}

#endif

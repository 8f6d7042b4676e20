/* Hyperbolic terms of the compressible Navier-Stokes equations:
 *
 *     -d(rho)/dt   = div(rho u)
 *     -d(rho u)/dt = div(rho u u) + grad(p)
 *     -d(rho E)/dt = div((rho E + p) u)
 *
 * with 8th-order central differences. Each direction is a kernel of its own; the first sets the
 * five rates, the others add to them. Momentum, energy, velocity and pressure are given: 13 arrays
 * in all, in double precision.
 */

#ifndef HYPTERM_H
#define HYPTERM_H

#define REAL double
#include "../problem.h"

#define KERNELS(_) _(hypterm_x) _(hypterm_y) _(hypterm_z)

enum { DIMENSIONS = 3 };
static const int small_size[3] = {258, 10, 9}, paper_size[3] = {300, 300, 300};

/* Given: momentum (3), energy, velocity (3), pressure; computed: five rates. */
enum { MX, MY, MZ, ENERGY, VX, VY, VZ, PRESSURE, RATE, ARRAYS = RATE + 5 };

/* 1 / (spacing of the grid). */
static const real SCALE = 8.0;

static inline void describe(struct problem *p)
{
    static const char *const names[ARRAYS] = {
        "mx",       "my",        "mz",      "energy",  "vx",      "vy",         "vz",
        "pressure", "rate_mass", "rate_mx", "rate_my", "rate_mz", "rate_energy"};
    static const char *const kernels[3] = {"hypterm_x", "hypterm_y", "hypterm_z"};
    const struct dims inner = dims(p->nx - 8, p->ny - 8, p->nz - 8);
    for (int n = 0; n < ARRAYS; n++)
        array(p, n, names[n], points(p), n < RATE ? INPUT : OUTPUT, NUMBERS);
    for (int axis = 0; axis < 3; axis++)
        launch(p, kernels[axis], dims(128, 1, 1), inner, "pppppppppppiiir", MX, MY, MZ, ENERGY,
               VX + axis, PRESSURE, RATE, RATE + 1, RATE + 2, RATE + 3, RATE + 4, p->nx, p->ny,
               p->nz, SCALE);
}

/* The plain CPU loop: the derivative of each flux, formed point by point. */
static inline void reference(const struct problem *p, real *const field[])
{
    static const double weight[5] = {0, 4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
    for (int axis = 0; axis < 3; axis++)
        for (int k = 4; k < p->nz - 4; k++)
            for (int j = 4; j < p->ny - 4; j++)
                for (int i = 4; i < p->nx - 4; i++) {
                    double rate[5] = {0};
                    for (int steps = -4; steps <= 4; steps++) {
                        const size_t there = beside(p, i, j, k, axis, steps);
                        const double w = steps < 0 ? -weight[-steps] : weight[steps];
                        const double v = field[VX + axis][there], pressure = field[PRESSURE][there];
                        rate[0] += w * field[MX + axis][there];
                        for (int m = 0; m < 3; m++)
                            rate[1 + m] +=
                                w * (field[MX + m][there] * v + (m == axis ? pressure : 0));
                        rate[4] += w * (field[ENERGY][there] + pressure) * v;
                    }
                    for (int n = 0; n < 5; n++)
                        field[RATE + n][at(p, i, j, k)] =
                            (axis == 0 ? 0 : field[RATE + n][at(p, i, j, k)]) - SCALE * rate[n];
                }
}

#endif

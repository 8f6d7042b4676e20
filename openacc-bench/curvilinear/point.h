/* One point of the derivatives: 12 neighbours of 3 components of the metric, 6 of the stress and 3
 * of the velocity, and 11 numbers at the point itself: 155 loads. */

#include "../point.h"

/* What of a point is computed; symmetric tensors as xx, yy, zz, xy, xz, yz. */
struct derivatives {
    float a[3], e[6];
};

/* Component c of f, n points further along the direction of stride s. */
#define AT(f, c, n, s) f[(c) * size + at + (n) * (s)]
#define DIFFERENCE(F) (8.0f * (F(1) - F(-1)) - (F(2) - F(-2)))

/* Flux of the stress components (x, y, z) of one row of the tensor through the face of direction d.
 */
#define FLUX(d, x, y, z, n, s)                             \
    (AT(metric, 3 * (d), n, s) * AT(stress, x, n, s) +     \
     AT(metric, 3 * (d) + 1, n, s) * AT(stress, y, n, s) + \
     AT(metric, 3 * (d) + 2, n, s) * AT(stress, z, n, s))

POINT struct derivatives derivatives_at(const float *metric, const float *jacobian,
                                        const float *density, const float *stress,
                                        const float *velocity, int at, int row, int plane,
                                        long long size)
{
    struct derivatives r;
    float g[3][3];
#define XI(n) FLUX(0, SX, SY, SZ, n, 1)
#define ETA(n) FLUX(1, SX, SY, SZ, n, row)
#define ZETA(n) FLUX(2, SX, SY, SZ, n, plane)
    const float per_volume = 1.0f / (12.0f * jacobian[at]);
    const float per_mass = per_volume / density[at];
#define SX 0
#define SY 3
#define SZ 4
    r.a[0] = per_mass * (DIFFERENCE(XI) + DIFFERENCE(ETA) + DIFFERENCE(ZETA));
#undef SX
#undef SY
#undef SZ
#define SX 3
#define SY 1
#define SZ 5
    r.a[1] = per_mass * (DIFFERENCE(XI) + DIFFERENCE(ETA) + DIFFERENCE(ZETA));
#undef SX
#undef SY
#undef SZ
#define SX 4
#define SY 5
#define SZ 2
    r.a[2] = per_mass * (DIFFERENCE(XI) + DIFFERENCE(ETA) + DIFFERENCE(ZETA));
#undef SX
#undef SY
#undef SZ
#undef XI
#undef ETA
#undef ZETA
#define XI(n) AT(velocity, c, n, 1)
#define ETA(n) AT(velocity, c, n, row)
#define ZETA(n) AT(velocity, c, n, plane)
    for (int c = 0; c < 3; c++) {
        const float xi = DIFFERENCE(XI), eta = DIFFERENCE(ETA), zeta = DIFFERENCE(ZETA);
        for (int m = 0; m < 3; m++)
            g[c][m] = per_volume * (AT(metric, m, 0, 0) * xi + AT(metric, 3 + m, 0, 0) * eta +
                                    AT(metric, 6 + m, 0, 0) * zeta);
    }
#undef XI
#undef ETA
#undef ZETA
    r.e[0] = g[0][0];
    r.e[1] = g[1][1];
    r.e[2] = g[2][2];
    r.e[3] = 0.5f * (g[0][1] + g[1][0]);
    r.e[4] = 0.5f * (g[0][2] + g[2][0]);
    r.e[5] = 0.5f * (g[1][2] + g[2][1]);
    return r;
}

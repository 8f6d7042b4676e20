/* One point of the right-hand side: 179 loads. */

#include "../point.h"

struct vector {
    double x, y, z;
};

/* The value of f some points further; always summed in this order, so that compilers recognise the
 * same address. */
#define AT(f, di, dj, dk) f[at + (dk) * plane + (dj) * row + (di)]

/* The same along one axis, or along two. */
#define X(f, n) AT(f, n, 0, 0)
#define Y(f, n) AT(f, 0, n, 0)
#define Z(f, n) AT(f, 0, 0, n)
#define XY(f, m, n) AT(f, m, n, 0)
#define YX(f, m, n) AT(f, n, m, 0)
#define XZ(f, m, n) AT(f, m, 0, n)
#define ZX(f, m, n) AT(f, n, 0, m)
#define YZ(f, m, n) AT(f, 0, m, n)
#define ZY(f, m, n) AT(f, 0, n, m)

/* Second derivative along one axis (see rhs4.h): C(n) is the stretched coefficient n points
 * further. */
#define NARROW(C, f, AXIS)                                                \
    ((C(-1) - 0.75 * (C(0) + C(-2))) * (AXIS(f, -2) - AXIS(f, 0)) +       \
     (C(-2) + C(1) + 3.0 * (C(0) + C(-1))) * (AXIS(f, -1) - AXIS(f, 0)) + \
     (C(-1) + C(2) + 3.0 * (C(1) + C(0))) * (AXIS(f, 1) - AXIS(f, 0)) +   \
     (C(1) - 0.75 * (C(0) + C(2))) * (AXIS(f, 2) - AXIS(f, 0)))

/* First derivative along the second axis of a plane, m points further along its first. */
#define INNER(f, PLANE, m) \
    (PLANE(f, m, -2) - PLANE(f, m, 2) + 8.0 * (PLANE(f, m, 1) - PLANE(f, m, -1)))

/* Mixed derivative in a plane, whose first axis is OUTER. */
#define MIXED(c, OUTER, f, PLANE)                                            \
    (OUTER(c, -2) * INNER(f, PLANE, -2) - OUTER(c, 2) * INNER(f, PLANE, 2) + \
     8.0 * (OUTER(c, 1) * INNER(f, PLANE, 1) - OUTER(c, -1) * INNER(f, PLANE, -1)))

/* (sx, sy, sz) point at this point's stretching factors. The second derivatives of a component
 * along its own axis have the coefficient 2 mu + lambda, the others mu. */
POINT struct vector rhs4_at(const double *mu, const double *la, const double *u, const double *v,
                            const double *w, const double *sx, const double *sy, const double *sz,
                            int at, int row, int plane)
{
#define LONG_X(n) (sx[n] * (2.0 * X(mu, n) + X(la, n)))
#define LONG_Y(n) (sy[n] * (2.0 * Y(mu, n) + Y(la, n)))
#define LONG_Z(n) (sz[n] * (2.0 * Z(mu, n) + Z(la, n)))
#define SHEAR_X(n) (sx[n] * X(mu, n))
#define SHEAR_Y(n) (sy[n] * Y(mu, n))
#define SHEAR_Z(n) (sz[n] * Z(mu, n))
    const double xy = sx[0] * sy[0] / 144.0, xz = sx[0] * sz[0] / 144.0, yz = sy[0] * sz[0] / 144.0;
    struct vector r;
    r.x = (sx[0] * NARROW(LONG_X, u, X) + sy[0] * NARROW(SHEAR_Y, u, Y) +
           sz[0] * NARROW(SHEAR_Z, u, Z)) /
              6.0 +
          xy * (MIXED(la, X, v, XY) + MIXED(mu, Y, v, YX)) +
          xz * (MIXED(la, X, w, XZ) + MIXED(mu, Z, w, ZX));
    r.y = (sx[0] * NARROW(SHEAR_X, v, X) + sy[0] * NARROW(LONG_Y, v, Y) +
           sz[0] * NARROW(SHEAR_Z, v, Z)) /
              6.0 +
          xy * (MIXED(mu, X, u, XY) + MIXED(la, Y, u, YX)) +
          yz * (MIXED(la, Y, w, YZ) + MIXED(mu, Z, w, ZY));
    r.z = (sx[0] * NARROW(SHEAR_X, w, X) + sy[0] * NARROW(SHEAR_Y, w, Y) +
           sz[0] * NARROW(LONG_Z, w, Z)) /
              6.0 +
          xz * (MIXED(mu, X, u, XZ) + MIXED(la, Z, u, ZX)) +
          yz * (MIXED(mu, Y, v, YZ) + MIXED(la, Z, v, ZY));
    return r;
}

/* One point's share of the rates from one direction: `axis` is 0 for i, `v` the velocity along it,
 * `stride` the distance of neighbours. 8 points of 6 arrays: 48 loads. */

#include "../point.h"

/* 8th-order first derivative of f, of which F(steps) is the value that many points further. */
#define DERIVATIVE(F)                                                               \
    (0.8 * (F(1) - F(-1)) - 0.2 * (F(2) - F(-2)) + (4.0 / 105.0) * (F(3) - F(-3)) - \
     (1.0 / 280.0) * (F(4) - F(-4)))

struct rates {
    double mass, mx, my, mz, energy;
};

POINT struct rates rates_at(int axis, const double *mx, const double *my, const double *mz,
                            const double *energy, const double *v, const double *pressure, int at,
                            int stride)
{
    const double *along = axis == 0 ? mx : axis == 1 ? my : mz;
    struct rates rates;
#define V(n) v[at + (n) * stride]
#define MASS(n) along[at + (n) * stride]
#define FLUX_X(n) (mx[at + (n) * stride] * V(n))
#define FLUX_Y(n) (my[at + (n) * stride] * V(n))
#define FLUX_Z(n) (mz[at + (n) * stride] * V(n))
#define P(n) pressure[at + (n) * stride]
#define FLUX_E(n) ((energy[at + (n) * stride] + P(n)) * V(n))
    const double push = DERIVATIVE(P);
    rates.mass = DERIVATIVE(MASS);
    rates.mx = DERIVATIVE(FLUX_X) + (axis == 0 ? push : 0.0);
    rates.my = DERIVATIVE(FLUX_Y) + (axis == 1 ? push : 0.0);
    rates.mz = DERIVATIVE(FLUX_Z) + (axis == 2 ? push : 0.0);
    rates.energy = DERIVATIVE(FLUX_E);
#undef V
#undef MASS
#undef FLUX_X
#undef FLUX_Y
#undef FLUX_Z
#undef P
#undef FLUX_E
    return rates;
}

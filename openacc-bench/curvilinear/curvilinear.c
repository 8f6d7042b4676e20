#include "curvilinear.h"
#include "point.h"

static void run(const struct problem *p, real *const field[])
{
    const int nx = p->nx, ny = p->ny, nz = p->nz;
    const long long n = (long long)points(p);
    const real *metric = field[METRIC];
    const real *jacobian = field[JACOBIAN];
    const real *density = field[DENSITY];
    const real *stress = field[STRESS];
    const real *velocity = field[VELOCITY];
    real *acceleration = field[ACCELERATION];
    real *strain = field[STRAIN];

#pragma acc parallel loop gang collapse(2) vector_length(128)                      \
    present(metric[0 : 9 * n], jacobian[0 : n], density[0 : n], stress[0 : 6 * n], \
            velocity[0 : 3 * n], acceleration[0 : 3 * n], strain[0 : 6 * n])
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++) {
#pragma acc loop vector
            for (int i = 2; i < nx - 2; i++) {
                const int at = (k * ny + j) * nx + i;
                const struct derivatives r =
                    derivatives_at(metric, jacobian, density, stress, velocity, at, nx, nx * ny, n);
#pragma acc loop seq
                for (int c = 0; c < 3; c++)
                    acceleration[c * n + at] = SCALE * r.a[c];
#pragma acc loop seq
                for (int c = 0; c < 6; c++)
                    strain[c * n + at] = SCALE * r.e[c];
            }
        }
}

#include "../openacc.h"

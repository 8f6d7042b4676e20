#include "structs.h"

struct vector {
    real x, y, z;
};

struct state {
    real density, momentum_x, momentum_y, energy;
};

struct section {
    real c[8];
};

static void run(const struct problem *p, real *const field[])
{
    const int n = p->nx;
    const struct vector *vectors = (const struct vector *)field[VECTORS];
    const struct state *states = (const struct state *)field[STATES];
    const struct section *sections = (const struct section *)field[SECTIONS];
    real *lengths = field[LENGTHS], *pressures = field[PRESSURES], *lifts = field[LIFTS];

#pragma acc parallel loop gang vector vector_length(128) present(vectors[0 : n], lengths[0 : n])
    for (int i = 0; i < n; i++) {
        const real x = vectors[i].x, y = vectors[i].y, z = vectors[i].z;
        lengths[i] = x * x + y * y + z * z;
    }

#pragma acc parallel loop gang vector vector_length(128) present(states[0 : n], pressures[0 : n])
    for (int i = 0; i < n; i++) {
        const real x = states[i].momentum_x, y = states[i].momentum_y;
        pressures[i] =
            (GAMMA - 1.0f) * (states[i].energy - 0.5f * (x * x + y * y) / states[i].density);
    }

#pragma acc parallel loop gang vector vector_length(128) present(sections[0 : n], lifts[0 : n])
    for (int i = 0; i < n; i++) {
        real lift = 0;
#pragma acc loop seq
        for (int d = 7; d >= 0; d--)
            lift = lift * ANGLE + sections[i].c[d];
        lifts[i] = lift;
    }
}

#include "../openacc.h"

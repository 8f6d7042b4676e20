// Arrays of structs of 3, 4 and 8 words. Lanes are a struct apart, so that each word of a struct is
// a load of its own that touches all lines of the warp's structs.

struct Vector {
    float x, y, z;
};

struct State {
    float density, momentum_x, momentum_y, energy;
};

struct Section {
    float c0, c1, c2, c3, c4, c5, c6, c7;
};

extern "C" __global__ void structs3(const Vector *vectors, float *lengths, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const Vector &v = vectors[i];
    lengths[i] = v.x * v.x + v.y * v.y + v.z * v.z;
}

extern "C" __global__ void structs4(const State *states, float *pressures, int n, float gamma)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const State &s = states[i];
    const float moving =
        0.5f * (s.momentum_x * s.momentum_x + s.momentum_y * s.momentum_y) / s.density;
    pressures[i] = (gamma - 1.0f) * (s.energy - moving);
}

extern "C" __global__ void structs8(const Section *__restrict__ sections, float *__restrict__ lifts,
                                    int n, float angle)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const Section &s = sections[i];
    float lift = s.c7;
    lift = lift * angle + s.c6;
    lift = lift * angle + s.c5;
    lift = lift * angle + s.c4;
    lift = lift * angle + s.c3;
    lift = lift * angle + s.c2;
    lift = lift * angle + s.c1;
    lifts[i] = lift * angle + s.c0;
}

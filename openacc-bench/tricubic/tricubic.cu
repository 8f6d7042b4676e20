// Tricubic interpolation: 4 x 4 x 4 neighbours, weighted in each direction by a cubic polynomial
// in the fractional coordinates a, b and c of the point. Written out.

static __device__ __forceinline__ float row(const float *u, float x0, float x1, float x2, float x3)
{
    return x0 * u[-1] + x1 * u[0] + x2 * u[1] + x3 * u[2];
}

extern "C" __global__ void tricubic(const float *__restrict__ u0, const float *__restrict__ a,
                                    const float *__restrict__ b, const float *__restrict__ c,
                                    float *__restrict__ u1, int nx, int ny, int nz)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y + 1;
    const int k = blockIdx.z + 1;
    if (i >= nx - 2)
        return;

    const int at = (k * ny + j) * nx + i;
    const float xa = a[at], xb = b[at], xc = c[at];
    const float sixth = 1.0f / 6.0f;
    const float a0 = -(xa - 1.0f) * xa * (xa - 2.0f) * sixth;
    const float a1 = (xa - 1.0f) * (xa + 1.0f) * (xa - 2.0f) * 0.5f;
    const float a2 = -xa * (xa + 1.0f) * (xa - 2.0f) * 0.5f;
    const float a3 = xa * (xa - 1.0f) * (xa + 1.0f) * sixth;
    const float b0 = -(xb - 1.0f) * xb * (xb - 2.0f) * sixth;
    const float b1 = (xb - 1.0f) * (xb + 1.0f) * (xb - 2.0f) * 0.5f;
    const float b2 = -xb * (xb + 1.0f) * (xb - 2.0f) * 0.5f;
    const float b3 = xb * (xb - 1.0f) * (xb + 1.0f) * sixth;
    const float c0 = -(xc - 1.0f) * xc * (xc - 2.0f) * sixth;
    const float c1 = (xc - 1.0f) * (xc + 1.0f) * (xc - 2.0f) * 0.5f;
    const float c2 = -xc * (xc + 1.0f) * (xc - 2.0f) * 0.5f;
    const float c3 = xc * (xc - 1.0f) * (xc + 1.0f) * sixth;

#define ROW(dj, dk) row(u0 + ((k + (dk)) * ny + j + (dj)) * nx + i, a0, a1, a2, a3)
#define PLANE(dk) (b0 * ROW(-1, dk) + b1 * ROW(0, dk) + b2 * ROW(1, dk) + b3 * ROW(2, dk))
    u1[at] = c0 * PLANE(-1) + c1 * PLANE(0) + c2 * PLANE(1) + c3 * PLANE(2);
#undef PLANE
#undef ROW
}

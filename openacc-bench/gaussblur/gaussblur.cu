// 5 x 5 Gaussian blur: one weight for each squared distance (0, 1, 2, 4, 5, 8) from the centre.
//
// The input is `const __restrict__`, which lets the compiler use the read-only path.

extern "C" __global__ void gaussblur(const float *__restrict__ w0, float *__restrict__ w1, int nx,
                                     int ny, float s0, float s1, float s2, float s4, float s5,
                                     float s8)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    const int j = blockIdx.y + 2;
    if (i >= nx - 2 || j >= ny - 2)
        return;

    const float f = 1.0f / (s0 + 4.0f * (s1 + s2 + s4 + s8) + 8.0f * s5);
    const float *m2 = w0 + (j - 2) * nx + i;
    const float *m1 = w0 + (j - 1) * nx + i;
    const float *z0 = w0 + j * nx + i;
    const float *p1 = w0 + (j + 1) * nx + i;
    const float *p2 = w0 + (j + 2) * nx + i;

    w1[j * nx + i] =
        f * (s8 * (m2[-2] + m2[2] + p2[-2] + p2[2]) +
             s5 * (m1[-2] + m1[2] + p1[-2] + p1[2] + m2[-1] + m2[1] + p2[-1] + p2[1]) +
             s4 * (z0[-2] + z0[2] + m2[0] + p2[0]) + s2 * (m1[-1] + m1[1] + p1[-1] + p1[1]) +
             s1 * (z0[-1] + z0[1] + m1[0] + p1[0]) + s0 * z0[0]);
}

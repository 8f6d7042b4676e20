// 7-point filter by a march along k, with 32-bit subscripts.
//
// blockIdx.y is j. The loop is not unrolled, so that its body is one point.

extern "C" __global__ void march7(const float *__restrict__ in, float *__restrict__ out, int nx,
                                  int ny, int nz, float centre, float around)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nx - 1 || j >= ny - 1)
        return;

    const int plane = nx * ny;
#pragma unroll 1
    for (int k = 1; k < nz - 1; k++) {
        const int at = k * plane + j * nx + i;
        out[at] = around * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - plane] +
                            in[at + plane]) +
                  centre * in[at];
    }
}

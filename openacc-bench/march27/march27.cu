// 27-point filter by a march along k, with a pointer that goes from plane to plane.

// The nine points of a plane: weights for its centre, its edges and its corners.
static __device__ float nine(const float *__restrict__ at, size_t row, float centre, float edge,
                             float corner)
{
    const float *before = at - row, *behind = at + row;
    return corner * (before[-1] + before[1] + behind[-1] + behind[1]) +
           edge * (before[0] + at[-1] + at[1] + behind[0]) + centre * at[0];
}

extern "C" __global__ void march27(const float *__restrict__ in, float *__restrict__ out, size_t nx,
                                   size_t ny, size_t nz, float c0, float c1, float c2, float c3)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x + 1;
    const size_t j = (size_t)blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nx - 1 || j >= ny - 1)
        return;

    const size_t plane = nx * ny;
    const float *from = in + plane + j * nx + i;
    float *to = out + plane + j * nx + i;
#pragma unroll 1
    for (size_t k = 1; k < nz - 1; k++) {
        *to = nine(from - plane, nx, c1, c2, c3) + nine(from, nx, c0, c1, c2) +
              nine(from + plane, nx, c1, c2, c3);
        from += plane;
        to += plane;
    }
}

// 3 x 3 stencil on a 2-D grid: c0 for the centre, c1 for the edges, c2 for the corners.
//
// One thread per interior point; i is contiguous in memory. Plain pointers: the compiler must
// assume that the output may overlap the input, and so issues ordinary loads.

extern "C" __global__ void jacobi(const float *w0, float *w1, int nx, int ny, float c0, float c1,
                                  float c2)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1)
        return;

    const int at = j * nx + i;
    w1[at] = c2 * (w0[at - nx - 1] + w0[at - nx + 1] + w0[at + nx - 1] + w0[at + nx + 1]) +
             c1 * (w0[at - 1] + w0[at + 1] + w0[at - nx] + w0[at + nx]) + c0 * w0[at];
}

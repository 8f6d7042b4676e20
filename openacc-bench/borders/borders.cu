// A 3 x 3 cross whose arms bend at the borders of the plane, in the three ways that are common: indices
// clamped to the edge, indices that go round, and arms that are left out.

// The middle is added first, so that its load comes first.
static __device__ float cross(const float *in, int nx, int i, int j, int before, int behind, int above,
                              int below, float w0, float w1)
{
    float sum = w0 * in[j * nx + i];
    sum += w1 * in[j * nx + before];
    sum += w1 * in[j * nx + behind];
    sum += w1 * in[above * nx + i];
    return sum + w1 * in[below * nx + i];
}

extern "C" __global__ void borders_clamped(const float *in, float *out, int nx, int ny, float w0,
                                           float w1)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny)
        return;

    const int before = i > 0 ? i - 1 : 0, behind = i < nx - 1 ? i + 1 : nx - 1;
    const int above = j > 0 ? j - 1 : 0, below = j < ny - 1 ? j + 1 : ny - 1;
    out[j * nx + i] = cross(in, nx, i, j, before, behind, above, below, w0, w1);
}

extern "C" __global__ void borders_periodic(const float *in, float *out, int nx, int ny, float w0,
                                            float w1)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny)
        return;

    const int before = (i + nx - 1) % nx, behind = (i + 1) % nx;
    const int above = (j + ny - 1) % ny, below = (j + 1) % ny;
    out[j * nx + i] = cross(in, nx, i, j, before, behind, above, below, w0, w1);
}

extern "C" __global__ void borders_left_out(const float *in, float *out, int nx, int ny, float w0,
                                            float w1)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny)
        return;

    float row = 0, column = 0;
    for (int a = -1; a <= 1; a += 2) {
        if (i + a >= 0 && i + a < nx)
            row += in[j * nx + i + a];
        if (j + a >= 0 && j + a < ny)
            column += in[(j + a) * nx + i];
    }
    out[j * nx + i] = w0 * in[j * nx + i] + w1 * (row + column);
}

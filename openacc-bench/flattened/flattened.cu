// Launches of one dimension: a thread's row is a quotient, its place in the row a remainder, and a warp may
// end one row and begin the next.

struct place {
    int here, row, column;
};

static __device__ place find(int nx)
{
    const int here = blockIdx.x * blockDim.x + threadIdx.x;
    return {here, here / nx, here % nx};
}

static __device__ bool inside(const place &at, int nx, int ny)
{
    return at.column > 0 && at.column < nx - 1 && at.row > 0 && at.row < ny - 1;
}

// The input has a frame of one point, so that its rows are longer than those of the launch.
extern "C" __global__ void flattened_cross(const float *in, float *out, int nx, int ny, float w0,
                                           float w1)
{
    const place at = find(nx);
    if (at.row >= ny)
        return;

    const int i = at.column + 1, j = at.row + 1, pitch = nx + 2;
    const float row = in[j * pitch + i - 1] + in[j * pitch + i + 1];
    const float column = in[(j - 1) * pitch + i] + in[(j + 1) * pitch + i];
    out[at.here] = w0 * in[j * pitch + i] + w1 * (row + column);
}

// The input is read again behind each store, as far as the compiler can tell.
extern "C" __global__ void flattened_gradient(const float *in, float *along, float *across,
                                              float *laplacian, int nx, int ny)
{
    const place at = find(nx);
    if (!inside(at, nx, ny))
        return;

    const float *middle = in + at.here;
    along[at.here] = 0.5f * (middle[1] - middle[-1]);
    across[at.here] = 0.5f * (middle[nx] - middle[-nx]);
    laplacian[at.here] = middle[1] + middle[-1] + (middle[nx] + middle[-nx]) - 4 * middle[0];
}

extern "C" __global__ void flattened_pixels(const unsigned *in, float *out, int nx, int ny, float w0,
                                            float w1)
{
    const place at = find(nx);
    if (!inside(at, nx, ny))
        return;

    const unsigned pixel = in[at.here];
    const unsigned char *green = reinterpret_cast<const unsigned char *>(in + at.here) + 1;
    const unsigned sum = (pixel & 255) + (pixel >> 8 & 255) + (pixel >> 16 & 255);
    out[at.here] = w0 * sum + w1 * (green[-4] + green[4]);
}

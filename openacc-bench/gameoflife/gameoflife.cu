// Conway's Game of Life in floating point: a cell becomes 1 where the rule keeps or creates life
// and a vanishing number elsewhere, without a branch.

extern "C" __global__ void gameoflife(const float *w0, float *w1, int nx, int ny)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
        const float *up = &w0[(j - 1) * nx + i];
        const float *mid = &w0[j * nx + i];
        const float *down = &w0[(j + 1) * nx + i];
        const float around =
            up[-1] + up[1] + up[0] + mid[-1] + mid[1] + down[-1] + down[1] + down[0];
        const float alive = mid[0];
        w1[j * nx + i] = 1.0f / (1.0f + (alive + around - 3.0f) * (around - 3.0f) * 1.0e20f);
    }
}

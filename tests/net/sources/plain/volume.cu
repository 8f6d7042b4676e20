// Seven points of a volume, marching along z with values kept in registers.
#include "plain.h"

extern "C" __global__ void seven(double* __restrict__ out, const double* __restrict__ in, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    unsigned plane = nx * ny, at = plane + y * nx + x;
    double below = in[at - plane], here = in[at];
    for (int z = 1; z < nz - 1; ++z, at += plane) {
        double above = in[at + plane];
        out[at] = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above - 6.0 * here;
        below = here;
        here = above;
    }
}

// 3-D 7-point Laplacian: alpha for the centre, beta for its six neighbours.
//
// A block is a strip of one row; blockIdx.y and blockIdx.z are the outer indices.

extern "C" __global__ void laplacian(const float *w0, float *w1, int nx, int ny, int nz,
                                     float alpha, float beta)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y + 1;
    const int k = blockIdx.z + 1;
    if (i < 1 || i >= nx - 1)
        return;

    const int row = nx;
    const int plane = nx * ny;
    const int at = k * plane + j * row + i;
    w1[at] = beta * (w0[at - 1] + w0[at + 1] + w0[at - row] + w0[at + row] + w0[at - plane] +
                     w0[at + plane]) +
             alpha * w0[at];
}

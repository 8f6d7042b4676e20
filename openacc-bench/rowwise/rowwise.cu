// The sum of squared second differences along each row: one thread per row. A load of the warp
// touches 32 lines, and two of the three values have been loaded in the two iterations before.

extern "C" __global__ void rowwise(const float *a, float *roughness, int nx, int ny)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny)
        return;

    float sum = 0.0f;
#pragma unroll 1
    for (int i = 1; i < nx - 1; i++) {
        const float bend = a[j * nx + i - 1] - 2.0f * a[j * nx + i] + a[j * nx + i + 1];
        sum += bend * bend;
    }
    roughness[j] = sum;
}

// 3 x 3 filter with weights in memory: half of the loads are of one word for all lanes.

extern "C" __global__ void weights(const float *weight, const float *in, float *out, int nx, int ny)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nx - 1 || j >= ny - 1)
        return;

    const float *at = in + (size_t)j * nx + i;
    float sum = 0.0f;
#pragma unroll
    for (int b = 0; b < 3; b++)
#pragma unroll
        for (int a = 0; a < 3; a++)
            sum += weight[3 * b + a] * at[(b - 1) * (long long)nx + a - 1];
    out[(size_t)j * nx + i] = sum;
}

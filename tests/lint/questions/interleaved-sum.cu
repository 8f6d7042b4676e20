// A block's sum: pairs that move apart, against halves that lie side by side.
constexpr int THREADS = 256;

extern "C" __global__ void interleaved(float* out, const float* in) {
    __shared__ float part[THREADS];
    unsigned own = threadIdx.x;
    part[own] = in[blockIdx.x * THREADS + own];
    __syncthreads();
#pragma unroll
    for (unsigned step = 1; step < THREADS; step *= 2) {
        unsigned at = 2 * step * own;
        if (at < THREADS) part[at] += part[at + step];
        __syncthreads();
    }
    if (own == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void halved(float* out, const float* in) {
    __shared__ float part[THREADS];
    unsigned own = threadIdx.x;
    part[own] = in[blockIdx.x * THREADS + own];
    __syncthreads();
#pragma unroll
    for (unsigned step = THREADS / 2; step > 0; step /= 2) {
        if (own < step) part[own] += part[own + step];
        __syncthreads();
    }
    if (own == 0) out[blockIdx.x] = part[0];
}

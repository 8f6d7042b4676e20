// Each thread copies the words of a coefficient of its own, or all threads copy all words side by side.
constexpr int THREADS = 128, WORDS = 8;

extern "C" __global__ void own(unsigned* out, const unsigned* in) {
    __shared__ unsigned kept[THREADS * WORDS];
    unsigned thread = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int i = 0; i < WORDS; ++i) kept[thread * WORDS + i] = in[(blockIdx.x * THREADS + thread) * WORDS + i];
#pragma unroll 1
    for (int i = 0; i < WORDS; ++i) sum = sum * 31 + kept[thread * WORDS + i];
    out[blockIdx.x * THREADS + thread] = sum;
}

extern "C" __global__ void together(unsigned* out, const unsigned* in) {
    __shared__ unsigned kept[THREADS * (WORDS + 1)];
    unsigned thread = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int i = 0; i < WORDS; ++i) {
        unsigned at = i * THREADS + thread;
        kept[at / WORDS * (WORDS + 1) + at % WORDS] = in[blockIdx.x * THREADS * WORDS + at];
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < WORDS; ++i) sum = sum * 31 + kept[thread * (WORDS + 1) + i];
    out[blockIdx.x * THREADS + thread] = sum;
}

// Bytes that pass through shared memory, one for each thread, by rows and by columns.
extern "C" __global__ void rows(unsigned char* out, const unsigned char* in) {
    __shared__ unsigned char kept[256];
    unsigned own = threadIdx.x;
    kept[own] = in[blockIdx.x * 256 + own];
    __syncthreads();
    out[blockIdx.x * 256 + own] = kept[255 - own];
}

extern "C" __global__ void columns(unsigned char* out, const unsigned char* in) {
    __shared__ unsigned char kept[32][32];
    unsigned lane = threadIdx.x;
#pragma unroll 1
    for (unsigned row = 0; row < 32; ++row) kept[row][lane] = in[row * 32 + lane];
    __syncwarp();
#pragma unroll 1
    for (unsigned row = 0; row < 32; ++row) out[row * 32 + lane] = kept[lane][row];
}

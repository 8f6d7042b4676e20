// Blocks of 8 by 4 threads, each of which is one warp: rows in shared memory that are as wide as the block, and wider ones.
extern "C" __global__ void as_wide(int* out, const int* in) {
    __shared__ int kept[4][8];
    unsigned at = threadIdx.y * 8 + threadIdx.x;
    kept[threadIdx.y][threadIdx.x] = in[blockIdx.x * 32 + at];
    __syncwarp();
    out[blockIdx.x * 32 + at] = kept[3 - threadIdx.y][7 - threadIdx.x];
}

extern "C" __global__ void wider(int* out, const int* in) {
    __shared__ int kept[4][32];
    unsigned at = threadIdx.y * 8 + threadIdx.x;
    kept[threadIdx.y][threadIdx.x] = in[blockIdx.x * 32 + at];
    __syncwarp();
    out[blockIdx.x * 32 + at] = kept[3 - threadIdx.y][7 - threadIdx.x];
}

// ldmatrix: eight lanes name eight rows of 16 bytes, which lie 256 bytes apart, plain and swizzled.
__device__ unsigned first_of_matrices(unsigned at) {
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    return a ^ b ^ c ^ d;
}

template <bool SWIZZLED> __device__ void fragments(unsigned* out, const uint4* in) {
    __shared__ uint4 tile[32][16];
    unsigned lane = threadIdx.x;
#pragma unroll 1
    for (unsigned row = 0; row < 32; ++row)
        if (lane < 16) tile[row][SWIZZLED ? lane ^ (row & 7) : lane] = in[row * 16 + lane];
    __syncwarp();
    unsigned column = SWIZZLED ? lane & 7 : 0;
    out[lane] = first_of_matrices((unsigned)__cvta_generic_to_shared(&tile[lane][column]));
}

extern "C" __global__ void plain(unsigned* out, const uint4* in) { fragments<false>(out, in); }

extern "C" __global__ void swizzled(unsigned* out, const uint4* in) { fragments<true>(out, in); }

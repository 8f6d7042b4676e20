// Warp-level functions, with rows of loads around them.
__global__ void lanes(unsigned* out, const unsigned* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 2 >= n) return;
    unsigned a = in[i], b = in[i + 1];
    unsigned mask = __activemask();
    unsigned up = __shfl_up_sync(0xffffffff, a, 1), down = __shfl_down_sync(mask, b, 2);
    unsigned votes = __ballot_sync(0xffffffff, a > b);
    if (__all_sync(0xffffffff, a > 3)) up ^= __shfl_xor_sync(0xffffffff, up, 16);
    __syncwarp();
    unsigned same = __match_any_sync(mask, a & 3);
#if __CUDA_ARCH__ >= 800
    same += __reduce_add_sync(0xffffffff, b);
#endif
    out[i] = up + down + votes + same + in[i + 2];
}

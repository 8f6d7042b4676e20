// Tensor cores through wmma: half, bfloat16, tf32 and integers.
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

template <typename A, typename C, int M, int N, int K>
static __device__ void multiply(C* c, const A* a, const A* b, int length) {
    wmma::fragment<wmma::matrix_a, M, N, K, A, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, M, N, K, A, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, M, N, K, C> sum;
    wmma::fill_fragment(sum, C(0));
    for (int k = 0; k < length; k += K) {
        wmma::load_matrix_sync(left, a + k, length);
        wmma::load_matrix_sync(right, b + k, length);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
}

__global__ void halves(float* c, const half* a, const half* b, int n) { multiply<half, float, 16, 16, 16>(c, a, b, n); }
__global__ void wide(half* c, const half* a, const half* b, int n) { multiply<half, half, 8, 32, 16>(c, a, b, n); }
__global__ void bytes(int* c, const signed char* a, const signed char* b, int n) {
    multiply<signed char, int, 16, 16, 16>(c, a, b, n);
}
#if __CUDA_ARCH__ >= 800
__global__ void brains(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, int n) {
    multiply<__nv_bfloat16, float, 16, 16, 16>(c, a, b, n);
}
#endif

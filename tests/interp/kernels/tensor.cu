// Tensor cores, asynchronous copies and their barriers; tests/interp/tensor.rs knows the results.
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

// C = A * B by wmma, one warp for each tile of 16 x 16; A by rows, B by columns.
extern "C" __global__ void gemm_wmma(const half *a, const half *b, float *c, int n)
{
    int x = blockIdx.x * 16, y = blockIdx.y * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + y * n + k, n);
        wmma::load_matrix_sync(fb, b + x * n + k, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] * 0.5f + 1.0f;
    wmma::store_matrix_sync(c + y * n + x, fc, n, wmma::mem_row_major);
}

// The same by ldmatrix and mma on tiles that cp.async brings, two at a time.
extern "C" __global__ void gemm_mma(const half *a, const half *b, float *c, int n)
{
    __shared__ __align__(16) half ta[2][16][24], tb[2][8][24];
    int lane = threadIdx.x, x = blockIdx.x * 8, y = blockIdx.y * 16;
    float d[4] = {0, 0, 0, 0};
    auto fetch = [&](int stage, int k) {
        __pipeline_memcpy_async(&ta[stage][lane / 2][lane % 2 * 8], a + (y + lane / 2) * n + k + lane % 2 * 8, 16);
        if (lane < 16)
            __pipeline_memcpy_async(&tb[stage][lane / 2][lane % 2 * 8], b + (x + lane / 2) * n + k + lane % 2 * 8, 16);
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int k = 0; k < n; k += 16) {
        int stage = k / 16 % 2;
        if (k + 16 < n)
            fetch(1 - stage, k + 16);
        else
            __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncwarp();
        unsigned fa[4], fb[2];
        unsigned pa = (unsigned)__cvta_generic_to_shared(&ta[stage][lane % 16][lane / 16 * 8]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(&tb[stage][lane % 8][lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(pb) : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        __syncwarp();
    }
    int row = y + lane / 4, col = x + lane % 4 * 2;
    c[row * n + col] = d[0];
    c[row * n + col + 1] = d[1];
    c[(row + 8) * n + col] = d[2];
    c[(row + 8) * n + col + 1] = d[3];
}

// Warps hand values round through a cuda::barrier of the block.
extern "C" __global__ void relay(const int *in, int *out, int rounds)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int slots[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    int t = threadIdx.x, n = blockDim.x;
    if (t == 0)
        init(&bar, n);
    __syncthreads();
    int v = in[t];
    for (int i = 0; i < rounds; i++) {
        slots[t] = v;
        bar.arrive_and_wait();
        v = slots[(t + 33) % n] + 1;
        bar.arrive_and_wait();
    }
    out[t] = v;
}

// A bulk copy into shared memory that a barrier waits for by bytes, and one back.
extern "C" __global__ void bulk(const int *in, int *out)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(16) int tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (t == 0) {
        cuda::memcpy_async(tile, in + blockIdx.x * 256, cuda::aligned_size_t<16>(sizeof(tile)), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, 0);
    } else
        token = bar.arrive();
    bar.wait(std::move(token));
    for (int i = t; i < 256; i += blockDim.x)
        tile[i] = 3 * tile[i] + 1;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + blockIdx.x * 256, tile, sizeof(tile));
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
}

struct Node {
    Node *next;
    int value;
};

// A list on the device heap for each thread.
extern "C" __global__ void lists(int *sums, int n)
{
    Node *head = nullptr;
    for (int i = 0; i <= (int)threadIdx.x % n; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->next = head;
        node->value = i * i;
        head = node;
    }
    int sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    sums[threadIdx.x] = sum;
}

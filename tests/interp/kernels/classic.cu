// Whole kernels whose results tests/interp/classic.rs computes on its own.
#include <cassert>
#include <cstdio>

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

// One sum per block: shared memory, then shuffles in the first warp.
extern "C" __global__ void reduce(const int *in, int *out, int n)
{
    __shared__ int part[256];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s >= 32; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t < 32) {
        sum = part[t];
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, s);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

// Inclusive scan of a block by shuffles and one exchange through shared memory.
extern "C" __global__ void scan(const unsigned *in, unsigned *out)
{
    __shared__ unsigned sums[32];
    int t = threadIdx.x, lane = t & 31, warp = t / 32;
    unsigned v = in[blockIdx.x * blockDim.x + t];
    for (int d = 1; d < 32; d *= 2) {
        unsigned below = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d)
            v += below;
    }
    if (lane == 31)
        sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        unsigned s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            unsigned below = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d)
                s += below;
        }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp > 0)
        v += sums[warp - 1];
    out[blockIdx.x * blockDim.x + t] = v;
}

// Shared-memory bins, then global atomics.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], mine[i]);
}

// Tiles of 16 x 16 in shared memory, edges guarded.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][17], tb[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0.0f;
        tb[y][x] = k + y < n && col < n ? b[(k + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum = fmaf(ta[y][i], tb[i][x], sum);
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

// Bitonic sort of one block's keys in dynamic shared memory.
extern "C" __global__ void bitonic(int *keys)
{
    extern __shared__ int s[];
    int t = threadIdx.x, n = blockDim.x;
    int *base = keys + blockIdx.x * n;
    s[t] = base[t];
    __syncthreads();
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t) {
                bool up = (t & k) == 0;
                if ((s[t] > s[other]) == up) {
                    int x = s[t];
                    s[t] = s[other];
                    s[other] = x;
                }
            }
            __syncthreads();
        }
    base[t] = s[t];
}

// A 3-D block: which lane is which thread, and how many warps there are.
extern "C" __global__ void shape(unsigned *lane, unsigned *active)
{
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned l;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));
    lane[t] = l;
    active[t] = __activemask();
}

__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// Recursion of different depth in every lane.
extern "C" __global__ void fibonacci(unsigned *out)
{
    out[threadIdx.x] = fib(threadIdx.x % 12);
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negate(int x) { return -x; }
__device__ int (*const table[3])(int) = {twice, square, negate};

// Calls through pointers that differ from lane to lane.
extern "C" __global__ void indirect(int *out)
{
    out[threadIdx.x] = table[threadIdx.x % 3]((int)threadIdx.x);
}

// A switch that becomes an indexed branch.
extern "C" __global__ void choose(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t], r;
    switch (v) {
    case 0: r = t + 7; break;
    case 1: r = t * 3; break;
    case 2: r = t ^ 0x55; break;
    case 3: r = -t; break;
    case 4: r = t << 4; break;
    case 5: r = t * t; break;
    case 6: r = ~t; break;
    default: r = 1000;
    }
    out[t] = r;
}

// A lock that lanes of one warp contend for.
extern "C" __global__ void locked(int *lock, int *count)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    *(volatile int *)count += 1;
    __threadfence();
    atomicExch(lock, 0);
}

// Blocks that wait for each other.
extern "C" __global__ void rendezvous(unsigned *arrived, unsigned *out)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < gridDim.x)
            ;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile unsigned *)arrived;
}

// Collectives of the block and of the warp.
extern "C" __global__ void votes(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t];
    int n = blockDim.x;
    out[t] = __syncthreads_count(v > 3);
    out[n + t] = __syncthreads_and(v >= 0);
    out[2 * n + t] = __syncthreads_or(v == 9);
    out[3 * n + t] = __ballot_sync(0xffffffffu, v & 1);
    out[4 * n + t] = __any_sync(0xffffffffu, v == 5);
    out[5 * n + t] = __all_sync(0xffffffffu, v < 9);
    out[6 * n + t] = __match_any_sync(0xffffffffu, v);
    out[7 * n + t] = __reduce_add_sync(0xffffffffu, v);
    out[8 * n + t] = __reduce_max_sync(0xffffffffu, v);
    out[9 * n + t] = __shfl_xor_sync(0xffffffffu, v, 5, 8);
    out[10 * n + t] = __shfl_sync(0xffffffffu, v, t * 7, 16);
}

// Both sides of a branch shuffle among themselves.
extern "C" __global__ void halves(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t], r;
    if (t & 1)
        r = __shfl_down_sync(0xaaaaaaaau, v, 2);
    else
        r = __shfl_up_sync(0x55555555u, v, 2);
    out[t] = r;
}

extern "C" __global__ void talk(int n)
{
    int t = threadIdx.x;
    if (t < n)
        printf("thread %d of %u: %5.2f|%-6s|%c %lld %08x\n", t, blockDim.x, t * 0.5, "ab", 'x', -5000000000ll - t,
               t * 0x1234567u);
}

extern "C" __global__ void claim(const int *in)
{
    assert(in[threadIdx.x] < 40);
}

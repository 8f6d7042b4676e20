// Kernels around the headers of `ptxasw synth`, each beside one that does the same with shared memory and one that
// loads each value where it needs it, past L1. `NAME_synth`, `NAME_shared` and `NAME_direct` take the same arguments,
// those of `NAME.json`.

#include "conv.cuh"
#include "conv2d.cuh"
#include "crc.cuh"
#include "ffm.cuh"
#include "ffm128.cuh"
#include "ffm192.cuh"
#include "ffm256.cuh"
#include "ffm384.cuh"
#include "ffm96.cuh"
#include "mult64six.cuh"
#include "stencil.cuh"
#include "stencil2d.cuh"
#include "store.cuh"
#include "sum.cuh"
#include "transpose.cuh"

// The warp of the grid that a thread belongs to, and its place in it.
#define WARP ((blockIdx.x * blockDim.x + threadIdx.x) / 32)
#define LANE (threadIdx.x & 31)

// One-dimensional convolution and stencil: nine points, one output for each lane.

constexpr int POINTS = 9;

extern "C" __global__ void conv1d_synth(const float *x, const float *w, float *y)
{
    float a[2], sum;
    const float *tile = x + 32 * WARP;
    // Nothing is read beyond what the warp's last lane needs.
    conv_load_a(a, tile, LANE);
    conv(sum, a, w, LANE);
    conv_store_y(y + 32 * WARP, sum, LANE);
}

extern "C" __global__ void conv1d_shared(const float *x, const float *w, float *y)
{
    __shared__ float tile[256 + POINTS - 1];
    const int first = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + POINTS - 1; i += blockDim.x)
        tile[i] = x[first + i];
    __syncthreads();
    float sum = w[0] * tile[threadIdx.x];
    for (int k = 1; k < POINTS; ++k)
        sum = sum + w[k] * tile[threadIdx.x + k];
    y[first + threadIdx.x] = sum;
}

extern "C" __global__ void conv1d_direct(const float *x, const float *w, float *y)
{
    const float *first = x + blockIdx.x * blockDim.x + threadIdx.x;
    float sum = w[0] * __ldcg(first);
    for (int k = 1; k < POINTS; ++k)
        sum = sum + w[k] * __ldcg(first + k);
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void stencil1d_synth(const float *x, float *y)
{
    stencil_warp(x + 32 * WARP, y + 32 * WARP, LANE);
}

extern "C" __global__ void stencil1d_shared(const float *x, float *y)
{
    __shared__ float tile[256 + POINTS - 1];
    const int first = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + POINTS - 1; i += blockDim.x)
        tile[i] = x[first + i];
    __syncthreads();
    float sum = tile[threadIdx.x];
    for (int k = 1; k < POINTS; ++k)
        sum = sum + tile[threadIdx.x + k];
    y[first + threadIdx.x] = sum;
}

extern "C" __global__ void stencil1d_direct(const float *x, float *y)
{
    const float *first = x + blockIdx.x * blockDim.x + threadIdx.x;
    float sum = __ldcg(first);
    for (int k = 1; k < POINTS; ++k)
        sum = sum + __ldcg(first + k);
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Two dimensions, 4 x 4 lanes to a tile and two tiles to a warp: 3 x 3 points with weights, 5 x 5 without. Tiles lie
// one after the other in memory, each with its border.

template <int SIDE, int WIDTH, bool DIRECT = false>
__device__ float window(const float *tile, const float *w)
{
    const int lane = threadIdx.x & 15, row = lane / 4, column = lane % 4;
    float sum = 0;
    for (int p = 0; p < SIDE; ++p)
        for (int q = 0; q < SIDE; ++q) {
            const float *from = tile + (row + p) * WIDTH + column + q;
            const float value = DIRECT ? __ldcg(from) : *from;
            sum = sum + (w ? w[p * SIDE + q] * value : value);
        }
    return sum;
}

extern "C" __global__ void conv2d_synth(const float *x, const float *w, float *y)
{
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    conv2d_warp(x + 49 * tile, w, y + 16 * tile, LANE & 15);
}

extern "C" __global__ void conv2d_shared(const float *x, const float *w, float *y)
{
    __shared__ float tiles[16][49];
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 16, own = threadIdx.x / 16;
    for (int i = threadIdx.x & 15; i < 49; i += 16)
        tiles[own][i] = x[49 * tile + i];
    __syncthreads();
    y[16 * tile + (threadIdx.x & 15)] = window<3, 7>(tiles[own], w);
}

extern "C" __global__ void conv2d_direct(const float *x, const float *w, float *y)
{
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    y[16 * tile + (threadIdx.x & 15)] = window<3, 7, true>(x + 49 * tile, w);
}

extern "C" __global__ void stencil2d_synth(const float *x, float *y)
{
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    stencil2d_warp(x + 81 * tile, y + 16 * tile, LANE & 15);
}

extern "C" __global__ void stencil2d_shared(const float *x, float *y)
{
    __shared__ float tiles[16][81];
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 16, own = threadIdx.x / 16;
    for (int i = threadIdx.x & 15; i < 81; i += 16)
        tiles[own][i] = x[81 * tile + i];
    __syncthreads();
    y[16 * tile + (threadIdx.x & 15)] = window<5, 9>(tiles[own], nullptr);
}

extern "C" __global__ void stencil2d_direct(const float *x, float *y)
{
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    y[16 * tile + (threadIdx.x & 15)] = window<5, 9, true>(x + 81 * tile, nullptr);
}

// Finite field multiplication: products of polynomials over GF(2), 32 of them beside each other in the bits of a word.
// 32 coefficients in a warp, then 64 with six accumulates for each of them, then blocks of 32 up to 384.

struct And {
    __device__ unsigned operator()(unsigned a, unsigned b) const { return a & b; }
};

extern "C" __global__ void ffm32_synth(const unsigned *x, const unsigned *y, unsigned *z)
{
    const unsigned *a = x + 32 * WARP, *b = y + 32 * WARP;
    unsigned *c = z + 64 * WARP;
    ffm_warp(a, b, c, c + 32, LANE, And());
}

// A lane's coefficients of the product, each of the first factor's taken once. `load` reads the factors.
template <int N, typename L>
__device__ void coefficients(const unsigned *a, const unsigned *b, unsigned *z, L load)
{
    unsigned sum[N / 16] = {};
    for (int k = 0; k < N; ++k) {
        const unsigned own = load(a + k);
        for (int r = 0; r < N / 16; ++r) {
            const int i = 32 * r + LANE - k;
            if (i >= 0 && i < N)
                sum[r] ^= own & load(b + i);
        }
    }
    for (int r = 0; r < N / 16; ++r)
        z[2 * N * WARP + 32 * r + LANE] = sum[r];
}

template <int N>
__device__ void product(const unsigned *x, const unsigned *y, unsigned *z)
{
    __shared__ unsigned a[8][N], b[8][N];
    const int own = threadIdx.x / 32;
    for (int i = LANE; i < N; i += 32) {
        a[own][i] = x[N * WARP + i];
        b[own][i] = y[N * WARP + i];
    }
    __syncwarp();
    coefficients<N>(a[own], b[own], z, [](const unsigned *from) { return *from; });
}

template <int N>
__device__ void product_direct(const unsigned *x, const unsigned *y, unsigned *z)
{
    coefficients<N>(x + N * WARP, y + N * WARP, z, [](const unsigned *from) { return __ldcg(from); });
}

extern "C" __global__ void ffm32_shared(const unsigned *x, const unsigned *y, unsigned *z)
{
    product<32>(x, y, z);
}

extern "C" __global__ void ffm32_direct(const unsigned *x, const unsigned *y, unsigned *z)
{
    product_direct<32>(x, y, z);
}

// The field's sum is an exclusive or.
struct Bits {
    unsigned bits;
    __device__ Bits(unsigned bits = 0) : bits(bits) {}
    __device__ operator unsigned() const { return bits; }
    __device__ Bits operator+(Bits other) const { return bits ^ other.bits; }
    __device__ Bits operator*(Bits other) const { return bits & other.bits; }
};

extern "C" __global__ void ffm64_synth(const Bits *x, const Bits *y, Bits *z)
{
    Bits *c = z + 128 * WARP;
    mult64six_warp(x + 64 * WARP, y + 64 * WARP, c, c + 32, c + 64, c + 96, LANE);
}

extern "C" __global__ void ffm64_shared(const unsigned *x, const unsigned *y, unsigned *z)
{
    product<64>(x, y, z);
}

extern "C" __global__ void ffm64_direct(const unsigned *x, const unsigned *y, unsigned *z)
{
    product_direct<64>(x, y, z);
}

#define PRODUCT(N)                                                                                       \
    extern "C" __global__ void ffm##N##_synth(const unsigned *x, const unsigned *y, unsigned *z)         \
    {                                                                                                    \
        unsigned *c = z + 2 * N * WARP;                                                                  \
        ffm##N##_warp(x + N * WARP, y + N * WARP, c, c + N, LANE, And());                                \
    }                                                                                                    \
    extern "C" __global__ void ffm##N##_shared(const unsigned *x, const unsigned *y, unsigned *z)        \
    {                                                                                                    \
        product<N>(x, y, z);                                                                             \
    }                                                                                                    \
    extern "C" __global__ void ffm##N##_direct(const unsigned *x, const unsigned *y, unsigned *z)        \
    {                                                                                                    \
        product_direct<N>(x, y, z);                                                                      \
    }

PRODUCT(96)
PRODUCT(128)
PRODUCT(192)
PRODUCT(256)
PRODUCT(384)

// Structs of seven words, loaded by coalesced loads: each lane works on its own struct, or sums it up.

__device__ float norm(const float (&v)[7])
{
    float sum = v[0];
    for (int i = 1; i < 7; ++i)
        sum = sum * 3 + v[i];
    return sum;
}

extern "C" __global__ void structs_synth(const float *x, float *y)
{
    float a[7], v[7];
    crc_load_a(a, x + 224 * WARP, LANE);
    crc(v, a, LANE);
    y[32 * WARP + LANE] = norm(v);
}

extern "C" __global__ void structs_shared(const float *x, float *y)
{
    __shared__ float tile[8][224];
    const int own = threadIdx.x / 32;
    for (int i = 0; i < 7; ++i)
        tile[own][32 * i + LANE] = x[224 * WARP + 32 * i + LANE];
    __syncwarp();
    float v[7];
    for (int i = 0; i < 7; ++i)
        v[i] = tile[own][7 * LANE + i];
    y[32 * WARP + LANE] = norm(v);
}

extern "C" __global__ void structs_direct(const float *x, float *y)
{
    float v[7];
    for (int i = 0; i < 7; ++i)
        v[i] = __ldcg(x + 224 * WARP + 7 * LANE + i);
    y[32 * WARP + LANE] = norm(v);
}

extern "C" __global__ void sums_synth(const float *x, float *y)
{
    sum_warp(x + 224 * WARP, y + 32 * WARP, LANE);
}

extern "C" __global__ void sums_shared(const float *x, float *y)
{
    __shared__ float tile[8][224];
    const int own = threadIdx.x / 32;
    for (int i = 0; i < 7; ++i)
        tile[own][32 * i + LANE] = x[224 * WARP + 32 * i + LANE];
    __syncwarp();
    float sum = 0;
    for (int i = 0; i < 7; ++i)
        sum += tile[own][7 * LANE + i];
    y[32 * WARP + LANE] = sum;
}

extern "C" __global__ void sums_direct(const float *x, float *y)
{
    float sum = 0;
    for (int i = 0; i < 7; ++i)
        sum += __ldcg(x + 224 * WARP + 7 * LANE + i);
    y[32 * WARP + LANE] = sum;
}

// Structs of seven words that come back as structs: loads and stores are coalesced.

__device__ void update(float (&v)[7])
{
    for (int i = 6; i > 0; --i)
        v[i] = v[i] * 3 + v[i - 1];
}

extern "C" __global__ void updates_synth(const float *x, float *y)
{
    float a[7], v[7], d[7];
    crc_load_a(a, x + 224 * WARP, LANE);
    crc(v, a, LANE);
    update(v);
    store(d, v, LANE);
    store_store_d(y + 224 * WARP, d, LANE);
}

extern "C" __global__ void updates_shared(const float *x, float *y)
{
    __shared__ float tile[8][224];
    const int own = threadIdx.x / 32;
    for (int i = 0; i < 7; ++i)
        tile[own][32 * i + LANE] = x[224 * WARP + 32 * i + LANE];
    __syncwarp();
    float v[7];
    for (int i = 0; i < 7; ++i)
        v[i] = tile[own][7 * LANE + i];
    update(v);
    // Each lane writes what it alone has read.
    for (int i = 0; i < 7; ++i)
        tile[own][7 * LANE + i] = v[i];
    __syncwarp();
    for (int i = 0; i < 7; ++i)
        y[224 * WARP + 32 * i + LANE] = tile[own][32 * i + LANE];
}

extern "C" __global__ void updates_direct(const float *x, float *y)
{
    float v[7];
    for (int i = 0; i < 7; ++i)
        v[i] = __ldcg(x + 224 * WARP + 7 * LANE + i);
    update(v);
    for (int i = 0; i < 7; ++i)
        y[224 * WARP + 7 * LANE + i] = v[i];
}

// A matrix of 32 columns, transposed tile by tile.

extern "C" __global__ void transpose_synth(const float *x, float *y)
{
    transpose_warp(x + 1024 * WARP, y + 1024 * WARP, LANE);
}

extern "C" __global__ void transpose_shared(const float *x, float *y)
{
    __shared__ float tile[4][32][33];
    const int own = threadIdx.x / 32;
    for (int i = 0; i < 32; ++i)
        tile[own][i][LANE] = x[1024 * WARP + 32 * i + LANE];
    __syncwarp();
    for (int i = 0; i < 32; ++i)
        y[1024 * WARP + 32 * i + LANE] = tile[own][LANE][i];
}

extern "C" __global__ void transpose_direct(const float *x, float *y)
{
    for (int i = 0; i < 32; ++i)
        y[1024 * WARP + 32 * i + LANE] = __ldcg(x + 1024 * WARP + 32 * LANE + i);
}

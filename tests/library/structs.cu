// Structs of every size by one warp: loaded, laid out by rows, and stored again.
#include "ptxasw/library.cuh"

#define LANE int(threadIdx.x & 31)

// All lanes have a struct.
template <int S, typename T>
__device__ void whole(const T *structs, T *rows, T *back)
{
    T own[S];
    ptxasw::load_structs(own, structs, LANE);
    for (int e = 0; e < S; ++e)
        rows[32 * e + LANE] = own[e];
    ptxasw::store_structs(back, own, LANE);
}

// The first lanes have one.
template <int S, typename T>
__device__ void some(const T *structs, T *rows, T *back, int count)
{
    T own[S];
    ptxasw::load_structs(own, structs, LANE, count);
    for (int e = 0; e < S; ++e)
        rows[32 * e + LANE] = own[e];
    ptxasw::store_structs(back, own, LANE, count);
}

#define KERNELS(S, T, NAME)                                                                        \
    extern "C" __global__ void whole_##NAME##_##S(const T *structs, T *rows, T *back)              \
    {                                                                                              \
        whole<S>(structs, rows, back);                                                             \
    }                                                                                              \
    extern "C" __global__ void some_##NAME##_##S(const T *structs, T *rows, T *back, int count)    \
    {                                                                                              \
        some<S>(structs, rows, back, count);                                                       \
    }

#define SIZES(T, NAME)                                                                             \
    KERNELS(2, T, NAME) KERNELS(3, T, NAME) KERNELS(4, T, NAME) KERNELS(5, T, NAME)                \
    KERNELS(6, T, NAME) KERNELS(7, T, NAME) KERNELS(8, T, NAME) KERNELS(9, T, NAME)                \
    KERNELS(10, T, NAME) KERNELS(11, T, NAME) KERNELS(12, T, NAME) KERNELS(13, T, NAME)            \
    KERNELS(14, T, NAME) KERNELS(15, T, NAME) KERNELS(16, T, NAME)

SIZES(float, b32)
#ifndef ONE_WIDTH
SIZES(unsigned long long, b64)
#endif

// Structs with a type.

struct Particle {
    float x, y, z, mass;
    float speed[3];
};

struct Wide {
    double a, b, c;
};

template <typename Word, typename Struct>
__device__ void typed(const Struct *structs, Struct *rows, Struct *back, int count)
{
    const Struct own = ptxasw::load_struct<Word>(structs, LANE, count);
    rows[LANE] = own;
    ptxasw::store_struct<Word>(back, own, LANE, count);
}

extern "C" __global__ void particles(const Particle *structs, Particle *rows, Particle *back, int count)
{
    typed<float>(structs, rows, back, count);
}

extern "C" __global__ void wides(const Wide *structs, Wide *rows, Wide *back, int count)
{
    typed<double>(structs, rows, back, count);
}

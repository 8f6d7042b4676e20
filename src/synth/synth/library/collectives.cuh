
namespace synth {

// The product of the values of all lanes, for an operator that is associative and commutative, in every lane.
// FORMULA for s = 16, 8, 4, 2, 1: v = op(v, v of lane l ^ s)
template <typename T, typename Op>
__device__ __forceinline__ T over_the_warp(T value, Op op)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        value = op(value, __shfl_xor_sync(0xffffffffu, value, s));
    return value;
}

}

// The sum modulo 2^32.
// FORMULA v[0] + v[1] + ... + v[31]
__device__ __forceinline__ unsigned warp_sum(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](unsigned a, unsigned b) { return a + b; });
#endif
}

// FORMULA v[0] + v[1] + ... + v[31]
__device__ __forceinline__ int warp_sum(int value)
{
    return int(warp_sum(unsigned(value)));
}

// FORMULA min(v[0], v[1], ..., v[31])
__device__ __forceinline__ unsigned warp_min(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](unsigned a, unsigned b) { return b < a ? b : a; });
#endif
}

// FORMULA min(v[0], v[1], ..., v[31])
__device__ __forceinline__ int warp_min(int value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](int a, int b) { return b < a ? b : a; });
#endif
}

// FORMULA max(v[0], v[1], ..., v[31])
__device__ __forceinline__ unsigned warp_max(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](unsigned a, unsigned b) { return a < b ? b : a; });
#endif
}

// FORMULA max(v[0], v[1], ..., v[31])
__device__ __forceinline__ int warp_max(int value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](int a, int b) { return a < b ? b : a; });
#endif
}

// FORMULA v[0] & v[1] & ... & v[31]
__device__ __forceinline__ unsigned warp_and(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_and_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](unsigned a, unsigned b) { return a & b; });
#endif
}

// FORMULA v[0] | v[1] | ... | v[31]
__device__ __forceinline__ unsigned warp_or(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](unsigned a, unsigned b) { return a | b; });
#endif
}

// FORMULA v[0] ^ v[1] ^ ... ^ v[31]
__device__ __forceinline__ unsigned warp_xor(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_xor_sync(0xffffffffu, value);
#else
    return synth::over_the_warp(value, [](unsigned a, unsigned b) { return a ^ b; });
#endif
}

// Whether a condition holds in all lanes.
// FORMULA c[0] && c[1] && ... && c[31]
__device__ __forceinline__ bool warp_all(bool condition)
{
    return __all_sync(0xffffffffu, condition) != 0;
}

// Whether a condition holds in any lane.
// FORMULA c[0] || c[1] || ... || c[31]
__device__ __forceinline__ bool warp_any(bool condition)
{
    return __any_sync(0xffffffffu, condition) != 0;
}

// In how many lanes a condition holds.
// FORMULA (c[0] ? 1 : 0) + ... + (c[31] ? 1 : 0)
__device__ __forceinline__ int warp_count(bool condition)
{
    return __popc(__ballot_sync(0xffffffffu, condition));
}

// In how many lanes in front of lane `lane` a condition holds: where its element goes if those that are kept move together.
// FORMULA (c[0] ? 1 : 0) + ... + (c[lane - 1] ? 1 : 0)
__device__ __forceinline__ int warp_count_before(bool condition, int lane)
{
    return __popc(__ballot_sync(0xffffffffu, condition) & ((1u << lane) - 1u));
}

#ifndef PTXASW_SYNTH_ARITHMETIC
#define PTXASW_SYNTH_ARITHMETIC
namespace synth {

template <typename T>
__host__ __device__ __forceinline__ T least(T a, T b)
{
    return b < a ? b : a;
}

template <typename T>
__host__ __device__ __forceinline__ T greatest(T a, T b)
{
    return a < b ? b : a;
}

// Quotients and remainders as Euclid has them: what remains is never negative.
template <typename T>
__host__ __device__ __forceinline__ T quotient(T a, T b)
{
    return a % b < 0 ? (b < 0 ? a / b + 1 : a / b - 1) : a / b;
}

template <typename T>
__host__ __device__ __forceinline__ T remainder(T a, T b)
{
    const T left = a % b;
    return left < 0 ? (b < 0 ? left - b : left + b) : left;
}

}
#endif

#ifndef PTXASW_SYNTH_NETWORK
#define PTXASW_SYNTH_NETWORK
namespace synth {

// A value whose words a shuffle has made of those of another one; values of any type that is made of words.
template <typename T, typename Shuffle>
__device__ __forceinline__ T by_words(const T &value, Shuffle shuffle)
{
    static_assert(sizeof(T) % 4 == 0 && alignof(T) % 4 == 0, "a value is made of words of four bytes");
    T other = value;
    const unsigned *from = reinterpret_cast<const unsigned *>(&value);
    unsigned *to = reinterpret_cast<unsigned *>(&other);
#pragma unroll
    for (int word = 0; word < int(sizeof(T) / 4); ++word)
        to[word] = shuffle(from[word], word);
    return other;
}

// The value of another lane.
template <typename T>
__device__ __forceinline__ T moved(const T &value, int lane)
{
    return by_words(value, [=](unsigned word, int) { return __shfl_sync(0xffffffffu, word, lane); });
}

// The value of the lane so far in front; the own one where there is none.
template <typename T>
__device__ __forceinline__ T moved_up(const T &value, int by)
{
    return by_words(value, [=](unsigned word, int) { return __shfl_up_sync(0xffffffffu, word, by); });
}

// The value of the lane so far behind; the own one where there is none.
template <typename T>
__device__ __forceinline__ T moved_down(const T &value, int by)
{
    return by_words(value, [=](unsigned word, int) { return __shfl_down_sync(0xffffffffu, word, by); });
}

// One of two values, without a branch.
template <typename T>
__device__ __forceinline__ T chosen(bool first, const T &a, const T &b)
{
    const unsigned *other = reinterpret_cast<const unsigned *>(&b);
    return by_words(a, [=](unsigned word, int at) { return first ? word : other[at]; });
}

}
#endif

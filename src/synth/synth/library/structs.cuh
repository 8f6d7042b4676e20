
// Loads the structs of a warp, which begin at `structs`, by S coalesced loads; `own` becomes the struct of the lane.
// FORMULA own[e] of lane l = structs[S * l + e]
template <int S, typename T>
__device__ __forceinline__ void load_structs(T (&own)[S], const T *structs, int lane)
{
    static_assert(S >= 2 && S <= 16, "a struct has 2 to 16 words");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word has 4 or 8 bytes");
    T words[S];
    to_structs_load_words(words, structs, lane);
    to_structs(own, words, lane);
}

// The same where the first `count` lanes have a struct, all of them from 32 on and none below 1: nothing behind these
// is read, and the other lanes get zeros.
// FORMULA own[e] of lane l = l < count ? structs[S * l + e] : T()
template <int S, typename T>
__device__ __forceinline__ void load_structs(T (&own)[S], const T *structs, int lane, int count)
{
    static_assert(S >= 2 && S <= 16, "a struct has 2 to 16 words");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word has 4 or 8 bytes");
    const int all = S * (count < 0 ? 0 : count < 32 ? count : 32);
    T words[S];
#pragma unroll
    for (int r = 0; r < S; ++r) {
        const int at = 32 * r + lane;
        words[r] = at < all ? structs[at] : T();
    }
    to_structs(own, words, lane);
}

// Stores the structs of a warp by S coalesced stores: `own` is that of the lane.
// FORMULA structs[S * l + e] = own[e] of lane l
template <int S, typename T>
__device__ __forceinline__ void store_structs(T *structs, const T (&own)[S], int lane)
{
    static_assert(S >= 2 && S <= 16, "a struct has 2 to 16 words");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word has 4 or 8 bytes");
    T words[S];
    to_words(words, own, lane);
    to_words_store_words(structs, words, lane);
}

// The same where the first `count` lanes have a struct: nothing behind these is written. All lanes take part.
// FORMULA structs[S * l + e] = own[e] of lane l < count
template <int S, typename T>
__device__ __forceinline__ void store_structs(T *structs, const T (&own)[S], int lane, int count)
{
    static_assert(S >= 2 && S <= 16, "a struct has 2 to 16 words");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word has 4 or 8 bytes");
    const int all = S * (count < 0 ? 0 : count < 32 ? count : 32);
    T words[S];
    to_words(words, own, lane);
#pragma unroll
    for (int r = 0; r < S; ++r) {
        const int at = 32 * r + lane;
        if (at < all)
            structs[at] = words[r];
    }
}

// The struct of the lane, of a type whose members are words of the type `Word`: load_struct<float>(particles, lane).
// FORMULA structs[l] in lane l < count, zeros in the others
template <typename Word, typename Struct>
__device__ __forceinline__ Struct load_struct(const Struct *structs, int lane, int count = 32)
{
    static_assert(sizeof(Struct) % sizeof(Word) == 0, "a struct is made of words");
    Word own[sizeof(Struct) / sizeof(Word)];
    load_structs(own, reinterpret_cast<const Word *>(structs), lane, count);
    Struct value;
    __builtin_memcpy(&value, own, sizeof value);
    return value;
}

// Stores the struct of the lane, of such a type: store_struct<float>(particles, particle, lane).
// FORMULA structs[l] = value of lane l < count
template <typename Word, typename Struct>
__device__ __forceinline__ void store_struct(Struct *structs, const Struct &value, int lane, int count = 32)
{
    static_assert(sizeof(Struct) % sizeof(Word) == 0, "a struct is made of words");
    Word own[sizeof(Struct) / sizeof(Word)];
    __builtin_memcpy(own, &value, sizeof value);
    store_structs(reinterpret_cast<Word *>(structs), own, lane, count);
}

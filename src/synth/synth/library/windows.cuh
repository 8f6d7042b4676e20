
// The row of a warp's windows where only the first `count` elements may be read: the others are taken for zeros.
// FORMULA row[r] of lane l = 32 * r + l < count ? x[32 * r + l] : T(), as far as windows of this radius reach
template <int RADIUS, typename T>
__device__ __forceinline__ void load_row(T (&row)[2], const T *x, int lane, int count)
{
    static_assert(RADIUS >= 1 && RADIUS <= 16, "a row is 32 to 64 elements");
    const int most = count < 32 + 2 * RADIUS ? count : 32 + 2 * RADIUS;
    row[0] = lane < most ? x[lane] : T();
    row[1] = 32 + lane < most ? x[32 + lane] : T();
}

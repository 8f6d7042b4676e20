// Many instances of one template: long mangled names, many kernels in a file.
template <typename T, int Radius, bool Weighted> struct Row {
    static __device__ T sum(const T* p) {
        T total = 0;
#pragma unroll
        for (int d = -Radius; d <= Radius; ++d) total += Weighted ? p[d] * T(d + 1) : p[d];
        return total;
    }
};
template <typename T, int Radius, bool Weighted, typename Index> __global__ void stencil(T* out, const T* in, Index n) {
    Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= Radius && i + Radius < n) out[i] = Row<T, Radius, Weighted>::sum(in + i);
}
#define INSTANCES(T, R)                                             \
    template __global__ void stencil<T, R, false>(T*, const T*, int); \
    template __global__ void stencil<T, R, true>(T*, const T*, long long); \
    template __global__ void stencil<T, R, true>(T*, const T*, unsigned);
INSTANCES(float, 1)
INSTANCES(float, 2)
INSTANCES(float, 4)
INSTANCES(double, 1)
INSTANCES(double, 3)
INSTANCES(int, 2)
INSTANCES(short, 1)
INSTANCES(unsigned char, 1)
INSTANCES(long long, 2)

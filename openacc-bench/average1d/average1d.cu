// Moving average with radius 1 to 15: 2 r + 1 neighbours.

#define RADIUS(r)                                                                                  \
    extern "C" __global__ void average1d_##r(const float *x, float *y, int n)                      \
    {                                                                                              \
        const int i = blockIdx.x * blockDim.x + threadIdx.x + r;                                   \
        if (i >= n - r)                                                                            \
            return;                                                                                \
        float sum = 0.0f;                                                                          \
        _Pragma("unroll")                                                                          \
        for (int k = -r; k <= r; k++)                                                              \
            sum += x[i + k];                                                                       \
        y[i] = sum * (1.0f / (2 * r + 1));                                                         \
    }

RADIUS(1)
RADIUS(2)
RADIUS(3)
RADIUS(4)
RADIUS(5)
RADIUS(6)
RADIUS(7)
RADIUS(8)
RADIUS(9)
RADIUS(10)
RADIUS(11)
RADIUS(12)
RADIUS(13)
RADIUS(14)
RADIUS(15)

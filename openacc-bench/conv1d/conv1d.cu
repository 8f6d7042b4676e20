// 1-D convolution with radius 1 to 15: 2 r + 1 neighbours, and as many weights, which all lanes
// share.

#define RADIUS(r)                                                                                  \
    extern "C" __global__ void conv1d_##r(const float *x, const float *w, float *y, int n)         \
    {                                                                                              \
        const int i = blockIdx.x * blockDim.x + threadIdx.x + r;                                   \
        if (i >= n - r)                                                                            \
            return;                                                                                \
        float sum = 0.0f;                                                                          \
        _Pragma("unroll")                                                                          \
        for (int k = 0; k <= 2 * r; k++)                                                           \
            sum += w[k] * x[i - r + k];                                                            \
        y[i] = sum;                                                                                \
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

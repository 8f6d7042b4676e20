// Integers of all widths: wide products, divisions, bit fields, 128-bit sums by carries.
#include "plain.h"

extern "C" __global__ void widths(signed char* a, unsigned short* b, int* c, unsigned long long* d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    a[i] = static_cast<signed char>(a[i] * 3 + a[i + 1]);
    b[i] = static_cast<unsigned short>(b[i] / (b[i + 1] | 1));
    c[i] = c[i] % (c[i + 1] | 1) + (c[i] << (c[i + 2] & 31));
    d[i] = d[i] * d[i + 1] + (d[i + 2] >> (i & 63));
}

extern "C" __global__ void bits(unsigned* out, const unsigned* in) {
    unsigned i = threadIdx.x, x = in[i];
    unsigned y = (x << 7) | (x >> 25);
    out[i] = ((y >> 5) & 0x7ff) ^ (x & 0xff00ff) ^ (~x | y);
    out[i + 64] = static_cast<unsigned>(static_cast<int>(x) < static_cast<int>(y)) + (x == 7u ? 3u : y);
}

extern "C" __global__ void carries(unsigned long long* out, const unsigned long long* a, const unsigned long long* b) {
    unsigned i = threadIdx.x;
    unsigned long long low = a[2 * i] + b[2 * i];
    out[2 * i] = low;
    out[2 * i + 1] = a[2 * i + 1] + b[2 * i + 1] + (low < a[2 * i]);
}

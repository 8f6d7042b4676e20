// 128-bit integers, long double-free arithmetic, an array in local memory indexed at run time, alloca.
__global__ void wide(__int128* out, const __int128* in, int n) {
    int i = threadIdx.x;
    __int128 a = in[i], b = in[i + 1];
    out[i] = a * b + (a >> (n & 127)) - (n ? a / (b | 1) : b);
}
__global__ void windows(float* out, const float* in, int n, int k) {
    float window[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < 32; ++j) window[j] = in[i + j];
    for (int j = 0; j < k; ++j) window[j & 31] += window[(j * 7) & 31];
    float* more = static_cast<float*>(alloca(n * sizeof(float)));
    for (int j = 0; j < n; ++j) more[j] = window[j & 31] * j;
    out[i] = window[k & 31] + more[n - 1];
}

// Library functions, narrow formats and intrinsics; tests/interp/numeric.rs knows the results.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void doubles(const double *in, double *out, int n)
{
    int i = threadIdx.x;
    double x = in[i];
    out[i] = sin(x);
    out[n + i] = cos(x);
    out[2 * n + i] = tan(x);
    out[3 * n + i] = exp(x);
    out[4 * n + i] = log(fabs(x));
    out[5 * n + i] = pow(fabs(x), 1.7);
    out[6 * n + i] = cbrt(x);
    out[7 * n + i] = atan2(x, 2.0);
    out[8 * n + i] = erf(x);
    out[9 * n + i] = fmod(x, 0.7);
    out[10 * n + i] = sinh(x);
    out[11 * n + i] = x / 3.7;
    out[12 * n + i] = log1p(fabs(x));
    out[13 * n + i] = floor(x);
    out[14 * n + i] = hypot(x, 3.0);
    out[15 * n + i] = tgamma(fabs(x) + 0.5);
}

extern "C" __global__ void singles(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    float x = in[i];
    out[i] = sinf(x);
    out[n + i] = cosf(x);
    out[2 * n + i] = tanf(x);
    out[3 * n + i] = expf(x);
    out[4 * n + i] = logf(fabsf(x));
    out[5 * n + i] = powf(fabsf(x), 1.7f);
    out[6 * n + i] = cbrtf(x);
    out[7 * n + i] = atan2f(x, 2.0f);
    out[8 * n + i] = erff(x);
    out[9 * n + i] = fmodf(x, 0.75f);
    out[10 * n + i] = sinhf(x);
    out[11 * n + i] = x / 3.7f;
    out[12 * n + i] = log1pf(fabsf(x));
    out[13 * n + i] = rintf(x);
    out[14 * n + i] = hypotf(x, 3.0f);
    out[15 * n + i] = rsqrtf(fabsf(x));
}

// A dot product in each narrow format, accumulated there.
extern "C" __global__ void narrow(const float *a, const float *b, float *out, int n)
{
    int i = threadIdx.x;
    __half h = __float2half(0.0f);
    __half2 h2 = __floats2half2_rn(0.0f, 0.0f);
    __nv_bfloat16 w = __float2bfloat16(0.0f);
    for (int k = 0; k < 4; k++) {
        float x = a[4 * i + k], y = b[4 * i + k];
        h = __hfma(__float2half(x), __float2half(y), h);
        h2 = __hadd2(h2, __hmul2(__floats2half2_rn(x, y), __floats2half2_rn(y, y)));
        w = __hfma(__float2bfloat16(x), __float2bfloat16(y), w);
    }
    out[i] = __half2float(h);
    out[n + i] = __low2float(h2);
    out[2 * n + i] = __high2float(h2);
    out[3 * n + i] = __bfloat162float(w);
    out[4 * n + i] = __hgt(h, __float2half(0.25f)) ? 1.0f : 0.0f;
}

// Integer intrinsics and conversions.
extern "C" __global__ void integers(const int *in, long long *out, int n)
{
    int i = threadIdx.x, x = in[i];
    out[i] = __popc(x);
    out[n + i] = __clz(x);
    out[2 * n + i] = __ffs(x);
    out[3 * n + i] = (unsigned)__brev(x);
    out[4 * n + i] = __mulhi(x, 0x12345678);
    out[5 * n + i] = (unsigned)__byte_perm(x, ~x, 0x5240);
    out[6 * n + i] = (unsigned)__funnelshift_l(x, ~x, 13);
    out[7 * n + i] = (long long)x * x % 1000003;
    out[8 * n + i] = x / 7;
    out[9 * n + i] = (unsigned)x % 11u;
    out[10 * n + i] = (signed char)x;
    out[11 * n + i] = (short)(x >> 3);
    out[12 * n + i] = __float2int_rz((float)x * 0.001f);
    out[13 * n + i] = __dp4a(x, 0x01020304, 5);
    out[14 * n + i] = (unsigned long long)__umul64hi((unsigned long long)x, 0x9e3779b97f4a7c15ull);
    out[15 * n + i] = __float_as_int(__int2float_rn(x));
}

// Atomics of many kinds on one word each.
extern "C" __global__ void atomics(unsigned *u, float *f, double *d, unsigned long long *l)
{
    int t = threadIdx.x;
    atomicAdd(&u[0], t);
    atomicMin(&u[1], 1000u - t);
    atomicMax((int *)&u[2], t - 50);
    atomicAnd(&u[3], ~(1u << (t & 31)));
    atomicOr(&u[4], 1u << (t & 31));
    atomicXor(&u[5], t);
    atomicInc(&u[6], 9u);
    atomicDec(&u[7], 9u);
    u[8 + t] = atomicExch(&u[8 + blockDim.x], t);
    atomicAdd(f, 0.25f);
    atomicAdd(d, 0.125);
    atomicAdd(l, 1ull << 32);
    atomicMax(&l[1], (unsigned long long)t << 40);
}

struct Pair {
    int key;
    double weight;
};

// A structure by value, and an array in local memory.
extern "C" __global__ void locals(Pair p, const int *in, double *out)
{
    double table[8];
    for (int k = 0; k < 8; k++)
        table[k] = p.weight * k + p.key;
    out[threadIdx.x] = table[in[threadIdx.x] & 7] + table[in[threadIdx.x + 1] & 7];
}

// One row for each block: maximum, exponentials, sum, quotient.
extern "C" __global__ void softmax(const float *in, float *out, int n)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    const float *row = in + blockIdx.x * n;
    float most = -INFINITY;
    for (int i = t; i < n; i += blockDim.x)
        most = fmaxf(most, row[i]);
    part[t] = most;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] = fmaxf(part[t], part[t + s]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    float sum = 0;
    for (int i = t; i < n; i += blockDim.x)
        sum += expf(row[i] - most);
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x)
        out[blockIdx.x * n + i] = expf(row[i] - most) / part[0];
}

// Lanes leave the loop one by one.
extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    double cr = __dsub_rn(3.0 * x / width, 2.0), ci = __dsub_rn(2.5 * y / height, 1.25), r = 0, i = 0;
    int n = 0;
    while (n < limit && __dadd_rn(__dmul_rn(r, r), __dmul_rn(i, i)) <= 4.0) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(r, r), __dmul_rn(i, i)), cr);
        i = __dadd_rn(__dmul_rn(__dmul_rn(2.0, r), i), ci);
        r = next;
        n++;
    }
    out[y * width + x] = n;
}

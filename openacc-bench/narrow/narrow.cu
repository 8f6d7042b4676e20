// Rows of bytes and of halves: a warp's row is 32 or 64 bytes long, and a shuffle moves a word.

static __device__ float as_float(unsigned char byte)
{
    return byte;
}

// Without <cuda_fp16.h>, which NVRTC has to be shown the way to.
static __device__ float as_float(unsigned short half)
{
    float number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(half));
    return number;
}

template <class Element>
static __device__ float side(const Element *at)
{
    const float before = as_float(at[-1]), behind = as_float(at[1]);
    return before + behind;
}

template <class Element>
static __device__ void filter(const Element *in, float *out, int nx, int ny, float w0, float w1,
                              float w2)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nx - 1 || j >= ny - 1)
        return;

    const Element *at = in + j * nx + i, *before = at - nx, *behind = at + nx;
    out[j * nx + i] = w2 * (side(before) + side(behind)) +
                      w1 * (side(at) + as_float(*before) + as_float(*behind)) + w0 * as_float(*at);
}

extern "C" __global__ void bytes(const unsigned char *in, float *out, int nx, int ny, float w0,
                                 float w1, float w2)
{
    filter(in, out, nx, ny, w0, w1, w2);
}

extern "C" __global__ void halves(const unsigned short *in, float *out, int nx, int ny, float w0,
                                  float w1, float w2)
{
    filter(in, out, nx, ny, w0, w1, w2);
}

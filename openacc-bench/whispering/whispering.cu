// Finite-difference time domain step of a whispering gallery resonator, with the energy density.
//
// The step reads one generation of the fields and writes the next, so everything it reads is
// constant while it runs: it loads through the read-only path by a helper in inline assembly, as
// many codes do that do not trust the compiler with `__restrict__`. The compiler cannot see into
// it, so h(i,j), which the second half reads again behind two stores, is loaded twice.

static __device__ __forceinline__ float load(const float *from)
{
    float value;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(from));
    return value;
}

extern "C" __global__ void whispering(const float *ca, const float *cb, const float *da,
                                      const float *db, const float *e0, const float *e1,
                                      const float *h, const float *u, float *n0, float *n1,
                                      float *h1, float *u1, int nx, int ny, float mu, float eps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1)
        return;

    const int at = j * nx + i;
    const float ca_here = load(&ca[at]), cb_here = load(&cb[at]), h_here = load(&h[at]);
    const float v0 = ca_here * load(&e0[at]) + cb_here * (load(&h[at + nx]) - h_here);
    const float v1 = ca_here * load(&e1[at]) - cb_here * (load(&h[at + 1]) - h_here);
    n0[at] = v0;
    n1[at] = v1;

    const float h_again = load(&h[at]);
    const float ey = load(&ca[at - nx]) * load(&e0[at - nx]) +
                     load(&cb[at - nx]) * (h_again - load(&h[at - nx]));
    const float ex =
        load(&ca[at - 1]) * load(&e1[at - 1]) - load(&cb[at - 1]) * (h_again - load(&h[at - 1]));
    const float next = load(&da[at]) * h_again + load(&db[at]) * (v0 - ey + ex - v1);
    h1[at] = next;
    u1[at] = load(&u[at]) + 0.5f * (next * next / mu + eps * (v0 * v0 + v1 * v1));
}

// Four members of five words each, one struct for each thread, of which one member is used.
struct Border {
    unsigned v[5];
};

struct Borders {
    Border top, bottom, left, right;
};

extern "C" __global__ void structs(unsigned* out, const Borders* in) {
    unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const Border& top = in[own].top;
    out[own] = top.v[0] + top.v[1] + top.v[2] + top.v[3] + top.v[4];
}

extern "C" __global__ void arrays(unsigned* out, const unsigned* top, unsigned n) {
    unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    out[own] = top[own] + top[n + own] + top[2 * n + own] + top[3 * n + own] + top[4 * n + own];
}

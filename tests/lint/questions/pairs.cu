// A struct of an int and a float, whose members are stored one after the other, or together.
struct Pair {
    int count;
    float weight;
};

struct __align__(8) AlignedPair {
    int count;
    float weight;
};

extern "C" __global__ void by_members(Pair* out, int pitch) {
    int at = (blockIdx.y * blockDim.y + threadIdx.y) * pitch + blockIdx.x * blockDim.x + threadIdx.x;
    out[at].count = 23;
    out[at].weight = 2;
}

extern "C" __global__ void together(AlignedPair* out, int pitch) {
    int at = (blockIdx.y * blockDim.y + threadIdx.y) * pitch + blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = {23, 2};
}

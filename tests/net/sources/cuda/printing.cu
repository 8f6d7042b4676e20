// printf, assert, traps, device-side allocation.
#include <cassert>
#include <cstdio>

__global__ void tell(const float* in, int n) {
    int i = threadIdx.x;
    assert(n > 0 && "a length");
    if (i + 1 < n) printf("%d: %f %f %s\n", i, in[i], in[i + 1], "done; { } \" \\ // not a comment /*");
    if (n > 1000000) __trap();
    if (n == 999999) __brkpt();
}

__global__ void allocate(int** out, int n) {
    int* mine = static_cast<int*>(malloc(n * sizeof(int)));
    if (mine == nullptr) return;
    memset(mine, threadIdx.x, n * sizeof(int));
    memcpy(mine, out, 16);
    out[threadIdx.x] = mine;
    if (n & 1) free(mine);
    delete new int[n];
}

// Control flow: a switch with many cases, nested loops with early exits, a goto.
#include "plain.h"

extern "C" __global__ void dispatch(int* data, const int* codes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = data[i];
    switch (codes[i]) {
        case 0: v += 1; break;
        case 1: v -= 7; break;
        case 2: v *= 3; break;
        case 3: v /= 5; break;
        case 4: v ^= 0x55; break;
        case 5: v <<= 2; break;
        case 6: v >>= 3; // falls through
        case 7: v = -v; break;
        case 8: v %= 11; break;
        case 9: v = ~v; break;
        default: v = 0;
    }
    data[i] = v;
}

extern "C" __global__ void search(int* found, const int* table, int rows, int columns, int wanted) {
    int i = threadIdx.x;
    for (int r = 0; r < rows; ++r) {
        for (int c = i; c < columns; c += blockDim.x) {
            int here = table[r * columns + c], next = table[r * columns + c + 1];
            if (here == wanted && next > here) {
                found[i] = r;
                goto done;
            }
            if (here < 0) break;
        }
    }
    found[i] = -1;
done:
    __syncthreads();
    if (found[(i + 1) % blockDim.x] >= 0) found[i] += 1;
}

"""Numba kernels of the net. SIGNATURES gives the types each is compiled for."""

import math

from numba import cuda, float32, float64, int32, types


def row(out, x):
    i = cuda.grid(1)
    if 1 <= i < x.size - 1:
        out[i] = x[i - 1] + x[i] + x[i + 1]


def plane(out, x):
    i, j = cuda.grid(2)
    if 1 <= i < x.shape[0] - 1 and 1 <= j < x.shape[1] - 1:
        out[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def tiles(out, a, b):
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    total = float32(0)
    for k in range(a.shape[1] // 16):
        left[i, j] = a[i, k * 16 + j]
        right[i, j] = b[k * 16 + i, j]
        cuda.syncthreads()
        for m in range(16):
            total += left[i, m] * right[m, j]
        cuda.syncthreads()
    out[i, j] = total


def special(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.sin(x[i]) * math.exp(x[i]) + math.sqrt(abs(x[i])) ** 1.5


def count(bins, x):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i] % bins.size, 1)


def lanes(out, x):
    i = cuda.grid(1)
    value = x[i] + x[i + 1]
    out[i] = cuda.shfl_down_sync(0xFFFFFFFF, value, 1) + cuda.popc(cuda.activemask())


SIGNATURES = {
    row: types.void(float32[::1], float32[::1]),
    plane: types.void(float64[:, ::1], float64[:, ::1]),
    tiles: types.void(float32[:, ::1], float32[:, ::1], float32[:, ::1]),
    special: types.void(float64[:], float64[:]),
    count: types.void(int32[::1], int32[::1]),
    lanes: types.void(int32[::1], int32[::1]),
}

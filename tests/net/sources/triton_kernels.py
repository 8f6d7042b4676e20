"""Triton kernels of the net: vector sum, row-wise softmax, product of matrices, row of three, layer norm,
histogram by atomics, scan. SIGNATURES gives the types and constants each is compiled for."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def row(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at >= 1) & (at < n - 1)
    total = tl.load(x + at - 1, mask=inside) + tl.load(x + at, mask=inside) + tl.load(x + at + 1, mask=inside)
    tl.store(out + at, total, mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < columns
    values = tl.load(x + at, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def product(a, b, c, k, stride, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * stride + inner[None, :])
        right = tl.load(b + inner[:, None] * stride + columns[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * stride + columns[None, :], total)


@triton.jit
def norm(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    spread = tl.sum((values - mean) * (values - mean), axis=0) / columns
    tl.store(out + tl.program_id(0) * columns + at, (values - mean) * tl.rsqrt(spread + 1e-5), mask=at < columns)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


SIGNATURES = {
    add: ({"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, 512),
    row: ({"x": "*fp32", "out": "*fp32", "n": "i32"}, 256),
    softmax: ({"x": "*fp32", "out": "*fp32", "columns": "i32"}, 1024),
    product: ({"a": "*fp16", "b": "*fp16", "c": "*fp32", "k": "i32", "stride": "i32"}, 32),
    norm: ({"x": "*fp32", "out": "*fp32", "columns": "i32"}, 512),
    histogram: ({"x": "*i32", "bins": "*i32", "n": "i32"}, 256),
    scan: ({"x": "*i32", "out": "*i32"}, 256),
}

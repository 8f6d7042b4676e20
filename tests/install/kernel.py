"""Compiles a stencil for a GPU that need not be there, with the ptxas that Triton finds, and prints the sizes of the cubins."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def stencil(a, b, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at > 0) & (at < n - 1)
    left = tl.load(a + at - 1, mask=inside)
    right = tl.load(a + at + 1, mask=inside)
    tl.store(b + at, left + right, mask=inside)


for capability in (80, 100):
    source = ASTSource(
        fn=stencil,
        signature={"a": "*fp32", "b": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": 128},
    )
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32))
    print(capability, len(made.asm["cubin"]))

// PTX written by hand inside CUDA: scopes, predicates, vectors, special registers, odd instructions.
__global__ void inside(unsigned* out, const unsigned* in, const float4* quads) {
    unsigned i = threadIdx.x, lane, x, y;
    unsigned long long clock;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(clock));
    asm("{\n\t.reg .pred p;\n\t.reg .u32 t<3>;\n\tsetp.gt.u32 p, %1, 3;\n\t"
        "@p add.u32 t0, %1, 7;\n\t@!p mov.u32 t0, 0;\n\tshl.b32 %0, t0, 2; // a comment\n\t}"
        : "=r"(x) : "r"(lane));
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1+4];" : "=r"(y) : "l"(in + i));
    float4 q;
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w) : "l"(quads + i));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i + 64));
    asm volatile("prmt.b32 %0, %0, %1, 0x3210;" : "+r"(x) : "r"(y));
    asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x) : "r"(y), "r"(lane));
    out[i] = x + y + in[i] + in[i + 1] + in[i + 2] + static_cast<unsigned>(clock) + static_cast<unsigned>(q.x + q.w);
}

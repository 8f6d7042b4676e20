//! Control flow as only generators write it.

use super::Kind;
use super::text::{kernel, lines, module};

const fn kind(name: &'static str, text: fn(usize) -> String) -> Kind {
    Kind { name, text }
}

/// All of them.
pub const KINDS: &[Kind] = &[
    kind("if-else-ladder", |n| {
        let body = lines(n / 4, |i| {
            format!(
                "setp.ne.s32 %p1, %r10, {i}; @%p1 bra N{i}; add.s32 %r3, %r3, {i}; bra.uni END; N{i}:"
            )
        });
        kernel(&format!("{body}END:\n"))
    }),
    kind("diamonds-with-loads", |n| {
        kernel(&lines(n / 8, |i| {
            format!(
                "setp.lt.s32 %p1, %r10, {i}; @%p1 bra T{i}; ld.global.f32 %f2, [%rd3+{0}]; \
                 bra.uni J{i}; T{i}: ld.global.f32 %f2, [%rd3+{1}]; J{i}: add.f32 %f1, %f1, %f2; \
                 ld.global.f32 %f3, [%rd3+{0}]; add.f32 %f1, %f1, %f3;",
                4 * i,
                4 * i + 4
            )
        }))
    }),
    kind("diamonds-with-stores", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "setp.lt.s32 %p1, %r10, {i}; @%p1 bra J{i}; st.global.f32 [%rd2+{0}], %f1; J{i}: \
                 ld.global.f32 %f2, [%rd3+{0}]; ld.global.f32 %f3, [%rd3+{1}]; add.f32 %f1, %f2, %f3;",
                4 * i,
                4 * i + 4
            )
        }))
    }),
    kind("loops-counted-and-nested", |n| {
        let depth = n / 5;
        let declared = format!(".reg .b32 %x<{depth}>;\n");
        let open = lines(depth, |i| format!("mov.u32 %x{i}, 0; H{i}: add.s32 %r3, %r3, %x{i};"));
        let close = lines(depth, |i| {
            let i = depth - 1 - i;
            format!("add.s32 %x{i}, %x{i}, 1; setp.lt.s32 %p1, %x{i}, %r1; @%p1 bra H{i};")
        });
        kernel(&(declared + &open + &close))
    }),
    kind("loops-with-loads", |n| {
        kernel(&lines(n / 9, |i| {
            format!(
                "mov.u32 %r11, 0; mov.u64 %rd11, %rd3; H{i}: ld.global.f32 %f2, [%rd11]; \
                 ld.global.f32 %f3, [%rd11+4]; fma.rn.f32 %f1, %f2, %f3, %f1; \
                 add.s64 %rd11, %rd11, 512; add.s32 %r11, %r11, 1; \
                 setp.lt.s32 %p1, %r11, %r1; @%p1 bra H{i};"
            )
        }))
    }),
    kind("loop-of-loads", |n| {
        let body = lines(n / 3, |i| {
            format!(
                "ld.global.f32 %f2, [%rd10+{0}]; add.f32 %f1, %f1, %f2; st.global.f32 [%rd11+{0}], %f1;",
                4 * i
            )
        });
        kernel(&format!(
            "mov.u64 %rd11, %rd2;\nH: add.s64 %rd10, %rd10, 4096; add.s64 %rd11, %rd11, 4096;\n\
             add.s32 %r11, %r11, 1;\n{body}setp.lt.s32 %p1, %r11, %r1; @%p1 bra H;\n"
        ))
    }),
    kind("state-machine", |n| {
        let states = n / 5;
        let tests = lines(states, |i| format!("setp.eq.s32 %p1, %r10, {i}; @%p1 bra S{i};"));
        let bodies = lines(states, |i| {
            format!("S{i}: add.s32 %r3, %r3, %r2; xor.b32 %r10, %r10, {i}; bra.uni H;")
        });
        kernel(&format!("H:\n{tests}bra.uni END;\n{bodies}END:\n"))
    }),
    kind("brx-in-a-loop", |n| {
        let states = n / 3;
        let names: Vec<String> = (0..states).map(|i| format!("S{i}")).collect();
        let bodies = lines(states, |i| {
            format!("S{i}: add.s32 %r3, %r3, {i}; xor.b32 %r10, %r10, {i}; bra.uni H;")
        });
        kernel(&format!(
            "LIST: .branchtargets {};\nH: add.s32 %r11, %r11, 1; setp.gt.s32 %p1, %r11, %r1; \
             @%p1 bra END;\nbrx.idx %r10, LIST;\n{bodies}END:\n",
            names.join(", ")
        ))
    }),
    kind("branches-anywhere", |n| {
        let count = n / 3;
        kernel(&lines(count, |i| {
            let target = i.wrapping_mul(2_654_435_761) % count;
            format!("L{i}: add.s32 %r3, %r3, %r2; setp.eq.s32 %p1, %r3, {i}; @%p1 bra L{target};")
        }))
    }),
    kind("branches-anywhere-ahead", |n| {
        let count = n / 3;
        let body = lines(count, |i| {
            let target = i + 1 + i.wrapping_mul(2_654_435_761) % (count - i);
            format!("L{i}: add.s32 %r3, %r3, %r2; setp.eq.s32 %p1, %r3, {i}; @%p1 bra L{target};")
        });
        kernel(&format!("{body}L{count}:\n"))
    }),
    kind("blocks-backwards", |n| {
        let count = n / 2;
        let body = lines(count, |i| {
            format!("L{}: add.s32 %r3, %r3, {i}; bra L{};", count - 1 - i, count - i)
        });
        kernel(&format!("bra L0;\n{body}L{count}:\n"))
    }),
    kind("blocks-never-entered", |n| {
        kernel(&format!(
            "bra.uni END;\n{}END:\n",
            lines(n / 4, |i| format!(
                "D{i}: ld.global.f32 %f2, [%rd3+{}]; add.s32 %r3, %r3, 1; \
                 setp.lt.s32 %p1, %r3, {i}; @%p1 bra D{};",
                4 * i,
                i / 2
            ))
        ))
    }),
    kind("exits-in-a-loop", |n| {
        let body = lines(n / 4, |i| {
            format!(
                "setp.eq.s32 %p1, %r11, {i}; @%p1 exit; ld.global.f32 %f2, [%rd10+{}]; \
                 add.f32 %f1, %f1, %f2;",
                4 * i
            )
        });
        kernel(&format!(
            "H: add.s32 %r11, %r11, 1; add.s64 %rd10, %rd10, 512;\n{body}\
             setp.lt.s32 %p1, %r11, %r1; @%p1 bra H;\n"
        ))
    }),
    kind("labels", |n| kernel(&lines(n, |i| format!("L{i}: add.s32 %r3, %r3, {i};")))),
    kind("labels-alone", |n| kernel(&lines(n, |i| format!("L{i}:")))),
    kind("warp-syncs", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "bar.warp.sync 0xffffffff; ld.global.f32 %f2, [%rd3+{}]; add.f32 %f1, %f1, %f2;",
                4 * (i / 2)
            )
        }))
    }),
    kind("warp-syncs-of-some", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "setp.lt.s32 %p1, %r10, {i}; @%p1 bar.warp.sync %r1; \
                 ld.global.f32 %f2, [%rd3+{}]; add.f32 %f1, %f1, %f2;",
                4 * (i / 2)
            )
        }))
    }),
    kind("shuffles", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "activemask.b32 %r11; shfl.sync.down.b32 %r12|%p1, %r3, {}, 31, %r11; \
                 add.s32 %r3, %r3, %r12;",
                i % 32
            )
        }))
    }),
    kind("votes", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; vote.sync.ballot.b32 %r11, %p1, 0xffffffff; \
                 match.any.sync.b32 %r12, %r3, 0xffffffff; mad.lo.s32 %r3, %r11, %r12, %r2;"
            )
        }))
    }),
    kind("functions-in-a-ring", |n| {
        let count = n / 5;
        let head = |i: usize| format!(".func (.reg .b32 %out) f{i}(.reg .b32 %in)");
        let declared = lines(count, |i| format!("{};", head(i)));
        let functions = lines(count, |i| {
            format!(
                "{}\n{{\n.reg .b32 %r<9>; .reg .pred %p; add.s32 %r1, %in, {i}; \
                 setp.eq.s32 %p, %r1, 0; @%p bra D; call (%r1), f{}, (%r1); D: mov.u32 %out, %r1; \
                 ret;\n}}",
                head(i),
                (i + 1) % count
            )
        });
        module(&(declared + &functions))
    }),
    kind("kernels", |n| {
        module(&lines(n / 12, |i| {
            format!(
                ".visible .entry k{i}(.param .u64 a)\n{{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; \
                 .reg .f32 %f<9>;\nld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd1, %rd1; \
                 mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2; \
                 ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd2+4]; add.f32 %f1, %f1, %f2; \
                 st.global.f32 [%rd2+8192], %f1; ret;\n}}"
            )
        }))
    }),
];

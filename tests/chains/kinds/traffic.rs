//! Many accesses whose addresses or guards take some thought, and text that is long outside of code.

use super::Kind;
use super::text::{kernel, lines, module};

const fn kind(name: &'static str, text: fn(usize) -> String) -> Kind {
    Kind { name, text }
}

/// Makes the address of the element of `%r11` and loads it.
const GATHER: &str = "mul.wide.s32 %rd11, %r11, 4; add.s64 %rd11, %rd1, %rd11; \
                      ld.global.f32 %f2, [%rd11];";

/// All of them.
pub const KINDS: &[Kind] = &[
    kind("loads-under-one-guard", |n| {
        let loads = lines(n, |i| format!("@%p1 ld.global.f32 %f2, [%rd3+{}];", 4 * i));
        kernel(&format!("setp.lt.s32 %p1, %r3, %r1;\n{loads}"))
    }),
    kind("loads-under-many-guards", |n| {
        let guards = lines(30, |i| format!("setp.lt.s32 %p{i}, %r3, {i};"));
        kernel(
            &(guards
                + &lines(n, |i| {
                    format!("@%p{} ld.global.f32 %f2, [%rd3+{}];", i * 7 % 30, 4 * (i / 3))
                })),
        )
    }),
    kind("loads-under-more-and-more", |n| {
        kernel(&format!(
            "setp.lt.s32 %p1, %r3, %r1;\n{}",
            lines(n / 4, |i| format!(
                "setp.gt.s32 %p2, %r3, {i}; and.pred %p1, %p1, %p2; \
                 @%p1 ld.global.f32 %f2, [%rd3+{}]; add.f32 %f1, %f1, %f2;",
                4 * i
            ))
        ))
    }),
    kind("loads-behind-a-check", |n| {
        let body =
            lines(n / 5, |i| format!("add.s32 %r11, %r3, {i}; {GATHER} add.f32 %f1, %f1, %f2;"));
        kernel(&format!(
            "setp.ge.s32 %p1, %r3, %r1; @%p1 exit; setp.lt.s32 %p1, %r3, 1; @%p1 exit;\n{body}"
        ))
    }),
    kind("indices-clamped", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "add.s32 %r11, %r3, {i}; min.s32 %r11, %r11, %r1; max.s32 %r11, %r11, 0; {GATHER}"
            )
        }))
    }),
    kind("indices-periodic", |n| {
        kernel(&lines(n / 5, |i| {
            format!("add.s32 %r11, %r3, {i}; rem.u32 %r11, %r11, %r1; {GATHER}")
        }))
    }),
    kind("indices-selected", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "setp.gt.s32 %p1, %r3, {i}; sub.s32 %r11, %r3, {i}; selp.b32 %r11, %r11, 0, %p1; \
                 {GATHER}"
            )
        }))
    }),
    kind("indices-of-three", |n| {
        kernel(&lines(n / 8, |i| {
            format!(
                "cvt.s64.s32 %rd12, %r3; mul.wide.s32 %rd13, %r1, %r5; add.s64 %rd12, %rd12, {i}; \
                 div.u64 %rd14, %rd12, %rd13; rem.u64 %rd14, %rd14, %rd2; shl.b64 %rd14, %rd14, 2; \
                 add.s64 %rd14, %rd1, %rd14; ld.global.f32 %f2, [%rd14];"
            )
        }))
    }),
    kind("indices-loaded", |n| {
        kernel(&lines(n / 4, |i| format!("ld.global.s32 %r11, [%rd3+{}]; {GATHER}", 4 * i)))
    }),
    kind("indices-and-stores", |n| {
        kernel(&lines(n / 5, |i| {
            format!("add.s32 %r11, %r3, {i}; {GATHER} st.global.f32 [%rd11+{}], %f2;", 4 * (i % 3))
        }))
    }),
    kind("stores-loaded", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "ld.global.s64 %rd12, [%rd3+{0}]; st.global.f32 [%rd12], %f1; \
                 ld.global.f32 %f1, [%rd3+{0}]; ld.global.f32 %f2, [%rd3+{1}];",
                8 * i,
                8 * i + 4
            )
        }))
    }),
    kind("stores-of-one-address", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "st.global.f32 [%rd3], %f1; ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+{}];",
                4 * i
            )
        }))
    }),
    kind("shifts-and-products-64", |n| {
        let chain = lines(n / 5, |i| {
            format!(
                "shl.b64 %rd11, %rd10, {}; mul.lo.s64 %rd11, %rd11, %rd2; shr.u64 %rd12, %rd11, {}; \
                 mul.hi.u64 %rd13, %rd11, %rd12; add.s64 %rd10, %rd13, %rd11;",
                i % 63,
                i % 17
            )
        });
        kernel(&format!("{chain}cvt.u32.u64 %r3, %rd10;\n"))
    }),
    kind("selections", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "setp.lt.s32 %p1, %r10, {i}; selp.b32 %r10, %r10, %r3, %p1; \
                 selp.b32 %r3, %r3, %r10, %p1;"
            )
        }))
    }),
    kind("selections-of-loaded", |n| {
        kernel(&lines(n / 5, |i| {
            format!(
                "ld.global.f32 %f2, [%rd3+{0}]; ld.global.f32 %f3, [%rd3+{1}]; \
                 setp.lt.f32 %p1, %f2, %f3; selp.f32 %f1, %f1, %f2, %p1; st.global.f32 [%rd2+{0}], %f1;",
                4 * i,
                4 * i + 4
            )
        }))
    }),
    kind("fma", |n| kernel(&lines(n, |_| "fma.rn.f32 %f1, %f1, %f1, %f1;".into()))),
    kind("stencil", |n| {
        kernel(&lines(n / 8, |i| {
            format!(
                "ld.global.f32 %f2, [%rd3+{0}]; ld.global.f32 %f3, [%rd3+{1}]; \
                 ld.global.f32 %f4, [%rd3+{2}]; add.f32 %f5, %f2, %f3; fma.rn.f32 %f5, %f4, %f5, %f1; \
                 sub.f32 %f6, %f5, %f2; mul.f32 %f6, %f6, %f6; st.global.f32 [%rd2+{0}], %f6;",
                4 * i,
                4 * i + 4,
                4 * i + 8
            )
        }))
    }),
    kind("shared", |n| {
        let body = lines(n / 4, |i| {
            format!(
                "bar.sync 0; ld.shared.f32 %f2, [tile+{0}]; st.shared.f32 [tile+{1}], %f2; {load}",
                4 * (i % 512),
                4 * (i * 7 % 512),
                load = format_args!("ld.global.f32 %f3, [%rd3+{}];", 4 * (i % 2))
            )
        });
        kernel(&(".shared .align 4 .b8 tile[2048];\n".to_owned() + &body))
    }),
    kind("initialiser", |n| {
        let values: Vec<String> = (0..n).map(|i| i.to_string()).collect();
        let table = format!(".global .u32 table[{n}] = {{{}}};\n", values.join(", "));
        kernel("").replacen(".visible", &format!("{table}.visible"), 1)
    }),
    kind("variables", |n| {
        let declared = lines(n / 3, |i| format!(".global .f32 v{i};"));
        let body = lines(n / 3, |i| format!("ld.global.f32 %f2, [v{i}]; add.f32 %f1, %f1, %f2;"));
        kernel(&body).replacen(".visible", &format!("{declared}.visible"), 1)
    }),
    kind("parameters", |n| {
        let count = 500;
        let names: Vec<String> = (0..count).map(|i| format!(".param .u64 p{i}")).collect();
        let body = lines(n / 4, |i| {
            format!(
                "ld.param.u64 %rd1, [p{}]; cvta.to.global.u64 %rd1, %rd1; \
                 ld.global.f32 %f1, [%rd1+{}]; st.global.f32 [%rd1], %f1;",
                i % count,
                4 * i
            )
        });
        module(&format!(
            ".visible .entry k({})\n{{\n.reg .b64 %rd<9>; .reg .f32 %f<9>;\n{body}ret;\n}}\n",
            names.join(", ")
        ))
    }),
    kind("one-line", |n| {
        let load = |i| format!("ld.global.f32 %f2, [%rd3+{}]; add.f32 %f1, %f1, %f2; ", 4 * i);
        kernel(&(0..n / 2).map(load).collect::<String>())
            .replace('\n', " ")
            .replacen(".target", "\n.target", 1)
            .replacen(".address", "\n.address", 1)
    }),
    kind("places", |n| {
        let body = lines(n / 2, |i| {
            format!(
                ".loc 1 {i} 3\n/* {i} */ ld.global.f32 %f2, [%rd3+{}]; add.f32 %f1, %f1, %f2;",
                4 * i
            )
        });
        kernel(&body) + ".file 1 \"a.cu\"\n"
    }),
    kind("registers-declared", |n| {
        kernel(&lines(n / 2, |i| {
            format!(
                ".reg .f32 %g{i}; ld.global.f32 %g{i}, [%rd3+{}]; add.f32 %f1, %f1, %g{i};",
                4 * i
            )
        }))
    }),
];

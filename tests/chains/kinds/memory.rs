//! Many loads and stores.

use super::Kind;
use super::text::{kernel, lines};

const fn kind(name: &'static str, text: fn(usize) -> String) -> Kind {
    Kind { name, text }
}

fn load(offset: usize) -> String {
    format!("ld.global.f32 %f2, [%rd3+{offset}]; add.f32 %f1, %f1, %f2;")
}

/// All of them.
pub const KINDS: &[Kind] = &[
    kind("loads-of-one-base", |n| kernel(&lines(n / 2, |i| load(4 * i)))),
    kind("loads-far-apart", |n| kernel(&lines(n / 2, |i| load(128 * i)))),
    kind("loads-of-one-address", |n| {
        kernel(&lines(n / 3, |i| format!("{} bar.sync 0; // {i}", load(0))))
    }),
    kind("loads-alive", |n| {
        let declared = format!(".reg .f32 %x<{}>;\n", n / 2);
        let loads = lines(n / 2, |i| format!("ld.global.f32 %x{i}, [%rd3+{}];", 4 * i));
        let sums = lines(n / 2, |i| format!("add.f32 %f1, %f1, %x{i};"));
        kernel(&(declared + &loads + &sums))
    }),
    kind("vector-loads", |n| {
        kernel(&lines(n / 2, |i| {
            format!(
                "ld.global.v4.f32 {{%f2, %f3, %f4, %f5}}, [%rd3+{}]; add.f32 %f1, %f1, %f4;",
                16 * i
            )
        }))
    }),
    kind("loads-and-stores", |n| {
        kernel(&lines(n / 3, |i| format!("{} st.global.f32 [%rd2+{}], %f1;", load(4 * i), 4 * i)))
    }),
    kind("loads-and-own-stores", |n| {
        kernel(&lines(n / 3, |i| {
            format!("{} st.global.f32 [%rd3+{}], %f1;", load(4 * i), 4 * (n - i))
        }))
    }),
    kind("loads-and-strange-stores", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "{} mul.lo.s32 %r11, %r1, {i}; mul.wide.s32 %rd11, %r11, 4; \
                 add.s64 %rd11, %rd3, %rd11; st.global.f32 [%rd11], %f1;",
                load(4 * i)
            )
        }))
    }),
    kind("stores-between-two-loads", |n| {
        let stores = lines(n, |i| format!("st.global.f32 [%rd3+{}], %f1;", 4096 + 4 * i));
        kernel(&format!("{}{stores}{}\n", load(0), load(4)))
    }),
    kind("bases", |n| {
        let declared = format!(".reg .b64 %x<{}>;\n", n / 4);
        let body = lines(n / 4, |i| {
            format!(
                "mul.wide.s32 %rd11, %r1, {i}; add.s64 %x{i}, %rd3, %rd11; \
                 ld.global.f32 %f2, [%x{i}]; add.f32 %f1, %f1, %f2;"
            )
        });
        kernel(&(declared + &body))
    }),
    kind("indices", |n| {
        kernel(&lines(n / 5, |i| {
            format!(
                "add.s32 %r11, %r3, {i}; mul.wide.s32 %rd11, %r11, 4; add.s64 %rd11, %rd1, %rd11; \
                 ld.global.f32 %f2, [%rd11]; add.f32 %f1, %f1, %f2;"
            )
        }))
    }),
    kind("indices-kept", |n| {
        let declared = format!(".reg .b32 %x<{0}>; .reg .b64 %y<{0}>;\n", n / 5);
        let body = lines(n / 5, |i| {
            format!(
                "mad.lo.s32 %x{i}, %r1, {i}, %r3; mul.wide.s32 %y{i}, %x{i}, 4; \
                 add.s64 %y{i}, %rd1, %y{i}; ld.global.f32 %f2, [%y{i}]; add.f32 %f1, %f1, %f2;"
            )
        });
        kernel(&(declared + &body))
    }),
    kind("indices-divided", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "add.s32 %r11, %r3, {i}; div.u32 %r12, %r11, %r1; rem.u32 %r13, %r12, %r5; \
                 mul.wide.s32 %rd11, %r13, 4; add.s64 %rd11, %rd1, %rd11; \
                 ld.global.f32 %f2, [%rd11];"
            )
        }))
    }),
    kind("pointer-chase", |n| kernel(&lines(n, |_| "ld.global.u64 %rd10, [%rd10];".into()))),
    kind("guarded-loads", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; @%p1 ld.global.f32 %f2, [%rd3+{}]; \
                 add.f32 %f1, %f1, %f2;",
                4 * i
            )
        }))
    }),
    kind("guarded-stores", |n| {
        kernel(&lines(n / 2, |i| {
            format!("setp.lt.s32 %p1, %r3, {i}; @%p1 st.global.f32 [%rd3+{}], %f1;", 4 * i)
        }))
    }),
    kind("guarded-moves", |n| {
        kernel(&lines(n / 2, |i| format!("setp.lt.s32 %p1, %r10, {i}; @%p1 mov.u32 %r3, {i};")))
    }),
    kind("guarded-stores-and-loads", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; @%p1 st.global.f32 [%rd3+{}], %f1; {}",
                8 * i,
                load(4 * i)
            )
        }))
    }),
    kind("atomics", |n| {
        kernel(&lines(n / 3, |i| {
            format!("atom.global.add.u32 %r11, [%rd2+{}], 1; {}", 4 * i, load(4 * i))
        }))
    }),
    kind("barriers-and-memory", |n| {
        let body = lines(n / 4, |i| {
            format!("st.shared.f32 [tile+{}], %f1; bar.sync 0; {}", 4 * (i % 512), load(4 * i))
        });
        kernel(&(".shared .align 4 .b8 tile[2048];\n".to_owned() + &body))
    }),
    kind("generic", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "ld.f32 %f2, [%rd10+{0}]; add.f32 %f1, %f1, %f2; st.f32 [%rd10+{0}], %f1;",
                4 * i
            )
        }))
    }),
    kind("loads-in-blocks", |n| {
        kernel(&lines(n / 4, |i| {
            format!("setp.lt.s32 %p1, %r10, {i}; @%p1 bra L{i}; {} L{i}:", load(4 * i))
        }))
    }),
];

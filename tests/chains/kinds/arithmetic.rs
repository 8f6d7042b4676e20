//! Chains of computations.

use super::Kind;
use super::text::{kernel, lines};

const fn kind(name: &'static str, text: fn(usize) -> String) -> Kind {
    Kind { name, text }
}

/// All of them.
pub const KINDS: &[Kind] = &[
    kind("mad", |n| kernel(&lines(n, |_| "mad.lo.s32 %r3, %r3, %r1, %r2;".into()))),
    kind("mad-of-two", |n| {
        kernel(&lines(n / 2, |_| {
            "mad.lo.s32 %r10, %r3, %r10, %r1; mad.lo.s32 %r3, %r10, %r3, %r2;".into()
        }))
    }),
    kind("add-index", |n| kernel(&lines(n, |_| "add.s32 %r3, %r3, %r2;".into()))),
    kind("xor-add", |n| {
        kernel(&lines(n / 2, |i| format!("xor.b32 %r11, %r3, {i}; add.s32 %r3, %r3, %r11;")))
    }),
    kind("guarded-add", |n| {
        kernel(&lines(n / 2, |i| format!("setp.lt.s32 %p1, %r3, {i}; @%p1 add.s32 %r3, %r3, %r1;")))
    }),
    kind("squares", |n| kernel(&lines(n, |_| "mul.lo.u32 %r3, %r3, %r3;".into()))),
    kind("squares-compared", |n| {
        let squares = lines(n.saturating_sub(2), |_| "mul.lo.u32 %r10, %r10, %r10;".into());
        kernel(&format!("{squares}setp.lt.u32 %p1, %r10, %r1; @%p1 add.s32 %r3, %r3, 1;\n"))
    }),
    kind("16-squares-and-branches", |n| {
        let squares = lines(16, |_| "mul.lo.u32 %r10, %r10, %r10;".into());
        let tests = lines(n / 3, |i| {
            format!("setp.lt.u32 %p1, %r10, {i}; @%p1 bra L{i}; add.s32 %r3, %r3, 1; L{i}:")
        });
        kernel(&(squares + &tests))
    }),
    kind("sum-of-products", |n| {
        kernel(&lines(n / 2, |_| "mul.lo.s32 %r10, %r10, %r3; add.s32 %r3, %r10, %r2;".into()))
    }),
    kind("sum-of-loads", |n| {
        kernel(&lines(n / 2, |i| {
            format!("ld.global.u32 %r11, [%rd2+{}]; add.s32 %r3, %r3, %r11;", 4 * i)
        }))
    }),
    kind("product-of-loads", |n| {
        kernel(&lines(n / 2, |i| {
            format!("ld.global.u32 %r11, [%rd2+{}]; mul.lo.s32 %r3, %r3, %r11;", 4 * i)
        }))
    }),
    kind("shl-mul", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "shl.b32 %r11, %r3, {}; mul.lo.s32 %r11, %r11, %r1; xor.b32 %r3, %r11, %r2;",
                i % 31
            )
        }))
    }),
    kind("variable-shifts", |n| {
        kernel(&lines(n / 2, |_| "shl.b32 %r11, %r3, %r1; shr.s32 %r3, %r11, %r2;".into()))
    }),
    kind("prmt", |n| {
        kernel(&lines(n, |i| match i % 3 {
            0 => "prmt.b32 %r3, %r3, %r1, 0x5410;".into(),
            1 => "prmt.b32 %r3, %r2, %r3, 0x1760;".into(),
            _ => "prmt.b32 %r3, %r3, %r1, 0x3a92;".into(),
        }))
    }),
    kind("prmt-unknown", |n| kernel(&lines(n, |_| "prmt.b32 %r3, %r3, %r1, %r2;".into()))),
    kind("bit-fields", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "bfe.u32 %r11, %r3, {}, 9; bfi.b32 %r3, %r11, %r3, {}, 11; \
                 shf.l.wrap.b32 %r3, %r3, %r11, 5; lop3.b32 %r3, %r3, %r11, %r1, 0x96;",
                i % 23,
                i % 19
            )
        }))
    }),
    kind("min-max", |n| {
        kernel(&lines(n / 3, |i| {
            format!("min.s32 %r11, %r3, %r1; max.s32 %r12, %r3, {i}; add.s32 %r3, %r11, %r12;")
        }))
    }),
    kind("selp-loaded", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "ld.global.u32 %r11, [%rd2+{}]; setp.ne.s32 %p1, %r11, 0; add.s32 %r12, %r3, {i}; \
                 selp.b32 %r3, %r12, %r3, %p1;",
                4 * i
            )
        }))
    }),
    kind("selp-constants", |n| {
        kernel(&lines(n / 3, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; selp.b32 %r11, {i}, {}, %p1; xor.b32 %r3, %r3, %r11;",
                i + 5
            )
        }))
    }),
    kind("mul-wide", |n| {
        kernel(&lines(n / 3, |_| {
            "mul.wide.s32 %rd10, %r3, %r3; shr.u64 %rd11, %rd10, 7; cvt.u32.u64 %r3, %rd11;".into()
        }))
    }),
    kind("mul-64", |n| {
        let chain = lines(n, |_| "mad.lo.s64 %rd10, %rd10, %rd10, %rd2;".into());
        kernel(&format!("{chain}cvt.u32.u64 %r3, %rd10;\n"))
    }),
    kind("widen-narrow", |n| {
        kernel(&lines(n / 4, |_| {
            "add.s32 %r3, %r3, 1; cvt.s64.s32 %rd10, %r3; add.s64 %rd10, %rd10, %rd2; \
             cvt.u32.u64 %r3, %rd10;"
                .into()
        }))
    }),
    kind("div-rem", |n| {
        kernel(&lines(n / 3, |_| {
            "div.u32 %r11, %r3, %r1; rem.u32 %r12, %r3, %r1; mad.lo.s32 %r3, %r11, 3, %r12;".into()
        }))
    }),
    kind("div-64", |n| {
        let chain = lines(n / 3, |_| {
            "div.s64 %rd11, %rd10, %rd1; rem.s64 %rd12, %rd10, %rd2; add.s64 %rd10, %rd11, %rd12;"
                .into()
        });
        kernel(&format!("{chain}cvt.u32.u64 %r3, %rd10;\n"))
    }),
    kind("carry", |n| {
        kernel(&lines(n / 2, |_| "add.cc.u32 %r10, %r10, %r3; addc.u32 %r3, %r3, %r10;".into()))
    }),
    kind("pack-unpack", |n| {
        kernel(&lines(n / 2, |_| "mov.b64 %rd10, {%r3, %r10}; mov.b64 {%r10, %r3}, %rd10;".into()))
    }),
    kind("predicates", |n| {
        kernel(&format!(
            "setp.lt.s32 %p2, %r3, %r1;\n{}@%p2 add.s32 %r3, %r3, 1;\n",
            lines(n / 2, |i| format!(
                "setp.gt.s32 %p1, %r3, {i}; {}.pred %p2, %p2, %p1;",
                ["and", "or", "xor"][i % 3]
            ))
        ))
    }),
    kind("predicates-doubled", |n| {
        kernel(&format!(
            "setp.lt.s32 %p2, %r3, %r1;\n{}@%p2 add.s32 %r3, %r3, 1;\n",
            lines(n / 3, |i| format!(
                "setp.gt.and.s32 %p1, %r3, {i}, %p2; setp.lt.or.s32 %p3, %r2, {i}, %p2; \
                 and.pred %p2, %p1, %p3;"
            ))
        ))
    }),
    kind("counting", |n| {
        kernel(&lines(n / 4, |_| {
            "popc.b32 %r11, %r3; clz.b32 %r12, %r3; brev.b32 %r3, %r3; \
             mad.lo.s32 %r3, %r11, %r12, %r3;"
                .into()
        }))
    }),
];

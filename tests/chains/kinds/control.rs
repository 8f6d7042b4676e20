//! Chains of branches, loops, scopes and calls.

use super::Kind;
use super::text::{kernel, lines, module};

const fn kind(name: &'static str, text: fn(usize) -> String) -> Kind {
    Kind { name, text }
}

/// All of them.
pub const KINDS: &[Kind] = &[
    kind("diamonds", |n| {
        kernel(&lines(n / 5, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; @%p1 bra T{i}; add.s32 %r3, %r3, %r1; bra.uni J{i}; \
                 T{i}: xor.b32 %r3, %r3, {i}; J{i}:"
            )
        }))
    }),
    kind("diamonds-nested", |n| {
        let depth = n / 4;
        let open = lines(depth, |i| {
            format!("setp.lt.s32 %p1, %r10, {i}; @%p1 bra E{i}; add.s32 %r3, %r3, {i};")
        });
        let close = lines(depth, |i| format!("E{}: add.s32 %r3, %r3, 1;", depth - 1 - i));
        kernel(&(open + &close))
    }),
    kind("three-way-joins", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; @%p1 bra J{i}; add.s32 %r3, %r3, %r1; \
                 setp.gt.s32 %p2, %r3, %r2; @%p2 bra J{i}; xor.b32 %r3, %r3, 5; J{i}:"
            )
        }))
    }),
    kind("exits", |n| kernel(&lines(n / 2, |i| format!("setp.eq.s32 %p1, %r10, {i}; @%p1 exit;")))),
    kind("exits-and-loads", |n| {
        kernel(&lines(n / 4, |i| {
            format!(
                "setp.eq.s32 %p1, %r10, {i}; @%p1 exit; ld.global.f32 %f2, [%rd3+{}]; \
                 add.f32 %f1, %f1, %f2;",
                4 * i
            )
        }))
    }),
    kind("switch", |n| {
        let cases = n / 4;
        let tests = lines(cases, |i| format!("setp.eq.s32 %p1, %r10, {i}; @%p1 bra C{i};"));
        let bodies = lines(cases, |i| format!("C{i}: add.s32 %r3, %r3, {i}; bra.uni END;"));
        kernel(&format!("{tests}bra.uni END;\n{bodies}END:\n"))
    }),
    kind("switch-merging-many", |n| {
        let cases = n / 18;
        let tests = lines(cases, |i| format!("setp.eq.s32 %p1, %r10, {i}; @%p1 bra C{i};"));
        let bodies = lines(cases, |i| {
            let moves: String =
                (20..35).map(|r| format!("add.s32 %r{r}, %r{}, {i}; ", r + 1)).collect();
            format!("C{i}: {moves} bra.uni END;")
        });
        kernel(&format!("{tests}bra.uni END;\n{bodies}END: add.s32 %r3, %r3, %r20;\n"))
    }),
    kind("brx", |n| {
        let cases = n / 2;
        let names: Vec<String> = (0..cases).map(|i| format!("C{i}")).collect();
        let bodies = lines(cases, |i| format!("C{i}: add.s32 %r3, %r3, {i}; bra.uni END;"));
        kernel(&format!(
            "LIST: .branchtargets {};\nbrx.idx %r10, LIST;\n{bodies}END:\n",
            names.join(", ")
        ))
    }),
    kind("many-brx", |n| {
        let (tables, cases) = (n / 20, n / 4);
        let names: Vec<String> = (0..cases).map(|i| format!("C{i}")).collect();
        let jumps = lines(tables, |_| "brx.idx %r10, LIST;".into());
        let bodies = lines(cases, |i| format!("C{i}: add.s32 %r3, %r3, {i}; bra.uni END;"));
        kernel(&format!("LIST: .branchtargets {};\n{jumps}{bodies}END:\n", names.join(", ")))
    }),
    kind("loops", |n| {
        kernel(&lines(n / 5, |i| {
            format!(
                "mov.u32 %r11, 0; H{i}: add.s32 %r3, %r3, %r2; add.s32 %r11, %r11, 1; \
                 setp.lt.s32 %p1, %r11, %r1; @%p1 bra H{i};"
            )
        }))
    }),
    kind("loops-nested", |n| {
        let depth = n / 4;
        let open = lines(depth, |i| format!("H{i}: add.s32 %r3, %r3, {i};"));
        let close = lines(depth, |i| {
            let i = depth - 1 - i;
            format!("add.s32 %r10, %r10, {i}; setp.lt.s32 %p1, %r10, %r1; @%p1 bra H{i};")
        });
        kernel(&(open + &close))
    }),
    kind("continues", |n| {
        let body = lines(n / 3, |i| {
            format!("add.s32 %r3, %r3, %r2; setp.eq.s32 %p1, %r3, {i}; @%p1 bra H;")
        });
        kernel(&format!(
            "H: add.s32 %r10, %r10, 1;\n{body}setp.lt.s32 %p1, %r10, %r1; @%p1 bra H;\n"
        ))
    }),
    kind("breaks", |n| {
        let body = lines(n / 3, |i| {
            format!("add.s32 %r3, %r3, %r2; setp.eq.s32 %p1, %r3, {i}; @%p1 bra OUT;")
        });
        kernel(&format!(
            "H: add.s32 %r10, %r10, 1;\n{body}setp.lt.s32 %p1, %r10, %r1; @%p1 bra H;\nOUT:\n"
        ))
    }),
    kind("irreducible", |n| {
        kernel(&lines(n / 6, |i| {
            format!(
                "setp.lt.s32 %p1, %r3, {i}; @%p1 bra B{i}; A{i}: add.s32 %r3, %r3, 1; \
                 B{i}: add.s32 %r10, %r10, %r3; setp.lt.s32 %p2, %r10, %r1; @%p2 bra A{i};"
            )
        }))
    }),
    kind("braces", |n| {
        // As deep as ptxas takes, again and again.
        kernel(&lines(n / 32, |i| {
            let open: String =
                (0..32).map(|d| format!("{{ .reg .b32 %q; add.s32 %q, %r3, {d}; ")).collect();
            format!("{open}add.s32 %r3, %q, {i}; {}", "}".repeat(32))
        }))
    }),
    kind("registers-times-blocks", |n| {
        let blocks = n / 4;
        let declared = format!(".reg .b32 %x<{blocks}>;\n");
        let first = lines(blocks, |i| format!("mov.u32 %x{i}, {i};"));
        let body = lines(blocks, |i| {
            format!(
                "setp.lt.s32 %p1, %r10, {i}; @%p1 bra L{i}; add.s32 %x{i}, %x{}, 1; L{i}:",
                i / 2
            )
        });
        kernel(&format!("{declared}{first}{body}add.s32 %r3, %r3, %x{};\n", blocks - 1))
    }),
    kind("registers-in-a-loop", |n| {
        let count = n / 2;
        let declared = format!(".reg .b32 %x<{}>;\n", count + 1);
        let first = lines(count, |i| format!("mov.u32 %x{i}, {i};"));
        let body = lines(count, |i| format!("add.s32 %x{i}, %x{i}, %x{};", (i + 1) % count));
        kernel(&format!(
            "{declared}{first}H:\n{body}setp.lt.s32 %p1, %x0, %r1; @%p1 bra H;\n\
             add.s32 %r3, %r3, %x1;\n"
        ))
    }),
    kind("functions", |n| {
        let count = n / 12;
        let functions = lines(count, |i| {
            let call = match i {
                0 => String::new(),
                _ => format!("call (%r1), f{}, (%r1);", i - 1),
            };
            format!(
                ".func (.reg .b32 %out) f{i}(.reg .b32 %in)\n{{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n\
                 mov.u32 %r1, %in; {call} mul.wide.s32 %rd1, %r1, 4; ld.global.u32 %r2, [%rd1]; \
                 ld.global.u32 %r3, [%rd1+4]; add.s32 %out, %r2, %r3; ret;\n}}"
            )
        });
        module(&functions)
    }),
    kind("calls", |n| {
        let body = lines(n / 2, |i| format!("call (%r3), f, (%r3); add.s32 %r3, %r3, {i};"));
        let function = ".func (.reg .b32 %o) f(.reg .b32 %i)\n{ add.s32 %o, %i, 1; ret; }\n";
        let whole = kernel(&body);
        whole.replacen(".visible", &format!("{function}.visible"), 1)
    }),
];

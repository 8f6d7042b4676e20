//! `ptxasw trace`: its lines about accesses, and that its JSON leaves nothing out. `tests/trace` has kernels with the text
//! that is printed of each; `BLESS=1` writes it.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::common::root;

/// The trace of a text, as text or as JSON.
fn trace(text: &str, format: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, text).expect("written");
    let done = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .args(["trace", "--format", format])
        .arg(&path)
        .output()
        .expect("the program can be started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("a text")
}

#[test]
fn texts_are_as_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/trace")).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "ptx") {
            continue;
        }
        let printed = trace(&std::fs::read_to_string(&path).expect("a text"), "text");
        let expected = path.with_extension("txt");
        if bless {
            std::fs::write(&expected, &printed).expect("written");
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != printed {
            wrong.push(format!("{}:\n{printed}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"/src/rows.cu\"\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u32 w)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %d<99>; .reg .f32 %f<9>;\n\
         .shared .align 16 .b8 s[8192];\n\
         ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r1, [w];\n\
         cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;\n\
         mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2;\n\
         mov.u32 %r6, s;\n{body}\nret;\n}}\n"
    )
}

/// An access to `[%d3]` or `[%r7]`, and the words for it.
const PATTERNS: [(&str, &str); 14] = [
    (
        "mul.wide.s32 %d3, %r5, 4; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];",
        "(+4 bytes per lane, coalesced)  4 sectors",
    ),
    (
        "mul.wide.s32 %d3, %r5, 8; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];",
        "(+8 bytes per lane: 2 lines of 128 bytes where 1 would do)  8 sectors, ideally 4",
    ),
    (
        "mul.wide.s32 %d3, %r5, 128; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];",
        "(+128 bytes per lane: a line per lane)  32 sectors, ideally 4",
    ),
    // A row for each thread.
    (
        "mul.lo.s32 %r8, %r5, %r1; mul.wide.s32 %d3, %r8, 4; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];",
        "(+4*w bytes per lane: a line per lane unless w is small)  1 to 32 sectors, ideally 4",
    ),
    // The transposed store.
    (
        "mad.lo.s32 %r8, %r5, %r1, %r3; mul.wide.s32 %d3, %r8, 4; add.s64 %d3, %d3, %d2; st.global.f32 [%d3], 0f00000000;",
        "(+4*w bytes per lane: a line per lane unless w is small)  1 to 32 sectors, ideally 4",
    ),
    // A row less in each next lane.
    (
        "sub.s32 %r8, %r1, %r5; mul.lo.s32 %r8, %r8, %r1; mul.wide.s32 %d3, %r8, 4; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];",
        "(-4*w bytes per lane: a line per lane unless w is small)  1 to 32 sectors, ideally 4",
    ),
    // A gather.
    (
        "mul.wide.s32 %d4, %r5, 4; add.s64 %d4, %d4, %d1; ld.global.u32 %r8, [%d4]; mul.wide.s32 %d3, %r8, 4; \
         add.s64 %d3, %d3, %d2; ld.global.f32 %f1, [%d3];",
        "(depends on loaded data)  irregular",
    ),
    (
        "and.b32 %r8, %r2, 7; mul.lo.s32 %r8, %r8, %r8; mul.wide.s32 %d3, %r8, 4; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];",
        "(not affine in the lane)  6 sectors, ideally 1",
    ),
    ("ld.global.f32 %f1, [%d1];", "(+0 bytes per lane, broadcast)  1 sector"),
    ("st.global.f32 [%d1], 0f00000000;", "(+0 bytes per lane, all lanes at one address)  1 sector"),
    (
        "shl.b32 %r7, %r2, 2; add.s32 %r7, %r7, %r6; ld.shared.f32 %f1, [%r7];",
        "(+4 bytes per lane, no bank conflict)  1 wavefront",
    ),
    (
        "shl.b32 %r7, %r2, 7; add.s32 %r7, %r7, %r6; ld.shared.f32 %f1, [%r7];",
        "(+128 bytes per lane, 32-way bank conflict)  32 wavefronts, ideally 1",
    ),
    (
        "shl.b32 %r7, %r2, 4; add.s32 %r7, %r7, %r6; ld.shared.v2.f32 {%f1, %f2}, [%r7];",
        "(+16 bytes per lane, 2-way bank conflict)  4 wavefronts, ideally 2",
    ),
    (
        "mul.lo.s32 %r7, %r2, %r1; shl.b32 %r7, %r7, 2; add.s32 %r7, %r7, %r6; ld.shared.f32 %f1, [%r7];",
        "(+4*w bytes per lane: bank conflicts depend on w)  1 to 32 wavefronts, ideally 1",
    ),
];

#[test]
fn strides_say_what_they_cost() {
    for (body, expected) in PATTERNS {
        let text = trace(&kernel(body), "text");
        let last = text
            .lines()
            .rev()
            .find(|line| line.contains("[") && line.contains("("))
            .unwrap_or_default();
        assert!(last.ends_with(expected), "{body}\n{expected}\n{text}");
    }
}

#[test]
fn accesses_name_the_source_line() {
    let body = ".loc 1 19 7\nld.global.f32 %f1, [%d1];\n.loc 1 20 9\nst.global.f32 [%d2], %f1;";
    let text = trace(&kernel(body), "text");
    assert!(
        text.contains("rows.cu:19  ld.global.f32") && text.contains("rows.cu:20  st.global.f32"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&trace(&kernel(body), "json")).expect("JSON");
    let source = json["kernels"][0]["accesses"].as_array().and_then(|all| all.last());
    let source = &source.expect("an access")["source"];
    assert_eq!(source["line"], 20, "{json}");
}

/// Addresses whose text would exceed the memory without sharing: each part occurs two times in the next one.
#[test]
fn json_leaves_nothing_out() {
    let mut body = "mov.u32 %r10, %r5;\n".to_owned();
    for _ in 0..60 {
        let _ = writeln!(
            body,
            "shr.u32 %r11, %r10, 3; xor.b32 %r10, %r11, %r10; mul.lo.u32 %r10, %r10, %r10;"
        );
    }
    body += "mul.wide.u32 %d3, %r10, 4; add.s64 %d3, %d3, %d1; ld.global.f32 %f1, [%d3];";
    let text = trace(&kernel(&body), "text");
    assert!(text.contains('…'), "text is cut: {text}");
    let text = trace(&kernel(&body), "json");
    assert!(!text.contains('…') && text.len() < 1 << 20, "{} bytes", text.len());
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let kernel = &json["kernels"][0];
    let terms: Vec<&str> =
        kernel["terms"].as_array().expect("terms").iter().filter_map(Value::as_str).collect();
    // Each name that stands anywhere is defined, once, by names that come later or by what has none.
    let defined: Vec<String> =
        terms.iter().map(|term| term.split(" = ").next().unwrap_or("").to_owned()).collect();
    let expected: Vec<String> = (1..=terms.len()).map(|number| format!("#{number}")).collect();
    assert!(!terms.is_empty() && defined == expected, "{defined:?}");
    let address = kernel["accesses"].as_array().and_then(|all| all.last()?["address"].as_str());
    let address = address.expect("an address");
    let names = |text: &str| -> Vec<usize> {
        let after = text.split('#').skip(1);
        let digits =
            after.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        digits.filter_map(|digits| digits.parse().ok()).collect()
    };
    let used =
        terms.iter().map(|term| term.split_once(" = ").map_or("", |pair| pair.1)).chain([address]);
    for name in used.flat_map(names) {
        assert!((1..=terms.len()).contains(&name), "#{name} is not defined");
    }
}

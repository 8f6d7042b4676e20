//! Fragments of matrices: every element where the manual's tables say ("Matrix Fragments for mma"),
//! written down here once more, in their words: `group` is `laneid >> 2`, `thread` is `laneid % 4`,
//! `i` the number of the element within the lane.

use super::bed::Bed;
use super::tensor::{half, small};

type Place = fn(group: usize, thread: usize, i: usize) -> (usize, usize);

/// One kind of `mma`.
struct Kind {
    opcode: &'static str,
    /// m, n, k.
    shape: [usize; 3],
    /// Element types of A, B, and of C and D.
    types: [&'static str; 3],
    a: Place,
    b: Place,
    c: Place,
}

const fn kind(
    opcode: &'static str,
    shape: [usize; 3],
    types: [&'static str; 3],
    a: Place,
    b: Place,
    c: Place,
) -> Kind {
    Kind { opcode, shape, types, a, b, c }
}

fn c16(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
}

fn c8(g: usize, t: usize, i: usize) -> (usize, usize) {
    (g, t * 2 + (i & 1))
}

fn half_a16(g: usize, t: usize, i: usize) -> (usize, usize) {
    let row = if i < 2 || (4..6).contains(&i) { g } else { g + 8 };
    (row, if i < 4 { t * 2 + (i & 1) } else { t * 2 + (i & 1) + 8 })
}

fn half_b16(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 2 { t * 2 + (i & 1) } else { t * 2 + (i & 1) + 8 }, g)
}

fn half_a8(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
}

fn half_b8(g: usize, t: usize, i: usize) -> (usize, usize) {
    (t * 2 + i, g)
}

fn byte_a32(g: usize, t: usize, i: usize) -> (usize, usize) {
    let row = if i < 4 || (8..12).contains(&i) { g } else { g + 8 };
    (row, if i < 8 { t * 4 + (i & 3) } else { t * 4 + (i & 3) + 16 })
}

fn byte_b32(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 4 { t * 4 + (i & 3) } else { t * 4 + (i & 3) + 16 }, g)
}

fn byte_a16(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 4 { g } else { g + 8 }, t * 4 + (i & 3))
}

fn byte_b16(g: usize, t: usize, i: usize) -> (usize, usize) {
    (t * 4 + i, g)
}

fn nibble_a64(g: usize, t: usize, i: usize) -> (usize, usize) {
    let row = if i < 8 || (16..24).contains(&i) { g } else { g + 8 };
    (row, if i < 16 { t * 8 + (i & 7) } else { t * 8 + (i & 7) + 32 })
}

fn nibble_b64(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 8 { t * 8 + (i & 7) } else { t * 8 + (i & 7) + 32 }, g)
}

fn bit_a256(g: usize, t: usize, i: usize) -> (usize, usize) {
    let row = if i < 32 || (64..96).contains(&i) { g } else { g + 8 };
    (row, if i < 64 { t * 32 + (i & 31) } else { t * 32 + (i & 31) + 128 })
}

fn bit_b256(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 32 { t * 32 + (i & 31) } else { t * 32 + (i & 31) + 128 }, g)
}

fn word_a8(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i == 0 || i == 2 { g } else { g + 8 }, if i < 2 { t } else { t + 4 })
}

fn word_b8(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i == 0 { t } else { t + 4 }, g)
}

fn word_a4(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i == 0 { g } else { g + 8 }, t)
}

fn double_a16(g: usize, t: usize, i: usize) -> (usize, usize) {
    if i.is_multiple_of(2) { (g, i * 2 + t) } else { (g + 8, i * 2 - 2 + t) }
}

fn double_b16(g: usize, t: usize, i: usize) -> (usize, usize) {
    (t + i * 4, g)
}

const KINDS: [Kind; 21] = [
    kind(
        "m16n8k16.row.col.f32.f16.f16.f32",
        [16, 8, 16],
        ["f16", "f16", "f32"],
        half_a16,
        half_b16,
        c16,
    ),
    kind(
        "m16n8k16.row.col.f16.f16.f16.f16",
        [16, 8, 16],
        ["f16", "f16", "f16"],
        half_a16,
        half_b16,
        c16,
    ),
    kind(
        "m16n8k8.row.col.f32.f16.f16.f32",
        [16, 8, 8],
        ["f16", "f16", "f32"],
        half_a8,
        half_b8,
        c16,
    ),
    kind(
        "m16n8k16.row.col.f32.bf16.bf16.f32",
        [16, 8, 16],
        ["bf16", "bf16", "f32"],
        half_a16,
        half_b16,
        c16,
    ),
    kind(
        "m16n8k8.row.col.f32.bf16.bf16.f32",
        [16, 8, 8],
        ["bf16", "bf16", "f32"],
        half_a8,
        half_b8,
        c16,
    ),
    kind(
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        [16, 8, 8],
        ["tf32", "tf32", "f32"],
        word_a8,
        word_b8,
        c16,
    ),
    kind(
        "m16n8k4.row.col.f32.tf32.tf32.f32",
        [16, 8, 4],
        ["tf32", "tf32", "f32"],
        word_a4,
        |g, t, _| (t, g),
        c16,
    ),
    kind(
        "m8n8k4.row.col.f64.f64.f64.f64",
        [8, 8, 4],
        ["f64", "f64", "f64"],
        |g, t, _| (g, t),
        |g, t, _| (t, g),
        c8,
    ),
    kind(
        "m16n8k4.row.col.f64.f64.f64.f64",
        [16, 8, 4],
        ["f64", "f64", "f64"],
        word_a4,
        |g, t, _| (t, g),
        c16,
    ),
    kind(
        "m16n8k8.row.col.f64.f64.f64.f64",
        [16, 8, 8],
        ["f64", "f64", "f64"],
        word_a8,
        word_b8,
        c16,
    ),
    kind(
        "m16n8k16.row.col.f64.f64.f64.f64",
        [16, 8, 16],
        ["f64", "f64", "f64"],
        double_a16,
        double_b16,
        c16,
    ),
    kind(
        "m16n8k32.row.col.s32.s8.s8.s32",
        [16, 8, 32],
        ["s8", "s8", "s32"],
        byte_a32,
        byte_b32,
        c16,
    ),
    kind(
        "m16n8k32.row.col.satfinite.s32.u8.s8.s32",
        [16, 8, 32],
        ["u8", "s8", "s32"],
        byte_a32,
        byte_b32,
        c16,
    ),
    kind(
        "m16n8k16.row.col.s32.s8.u8.s32",
        [16, 8, 16],
        ["s8", "u8", "s32"],
        byte_a16,
        byte_b16,
        c16,
    ),
    kind(
        "m8n8k16.row.col.s32.s8.s8.s32",
        [8, 8, 16],
        ["s8", "s8", "s32"],
        |g, t, i| (g, t * 4 + i),
        byte_b16,
        c8,
    ),
    kind(
        "m16n8k64.row.col.s32.s4.u4.s32",
        [16, 8, 64],
        ["s4", "u4", "s32"],
        nibble_a64,
        nibble_b64,
        c16,
    ),
    kind(
        "m8n8k32.row.col.s32.u4.s4.s32",
        [8, 8, 32],
        ["u4", "s4", "s32"],
        |g, t, i| (g, t * 8 + i),
        |g, t, i| (t * 8 + i, g),
        c8,
    ),
    kind(
        "m16n8k256.row.col.s32.b1.b1.s32.and.popc",
        [16, 8, 256],
        ["b1", "b1", "s32"],
        bit_a256,
        bit_b256,
        c16,
    ),
    kind(
        "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
        [16, 8, 256],
        ["b1", "b1", "s32"],
        bit_a256,
        bit_b256,
        c16,
    ),
    kind(
        "m16n8k32.row.col.f32.e4m3.e5m2.f32",
        [16, 8, 32],
        ["e4m3", "e5m2", "f32"],
        byte_a32,
        byte_b32,
        c16,
    ),
    kind(
        "m16n8k16.row.col.f32.e5m2.e4m3.f32",
        [16, 8, 16],
        ["e5m2", "e4m3", "f32"],
        byte_a16,
        byte_b16,
        c16,
    ),
];

/// Bits of an element.
fn width(ty: &str) -> u32 {
    match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

/// What a type can hold of an integer between -3 and 4.
fn fit(ty: &str, value: i32) -> i32 {
    match ty {
        "b1" => value & 1,
        "u4" | "u8" => value + 3,
        _ => value,
    }
}

/// The bits of a small integer.
fn encode(ty: &str, value: i32) -> u64 {
    let tiny = |bias: u32, bits: u32| {
        let Some(exponent) = value.unsigned_abs().checked_ilog2() else { return 0 };
        let fraction = (value.unsigned_abs() - (1 << exponent)) << bits >> exponent;
        u64::from(u32::from(value < 0) << 7 | (exponent + bias) << bits | fraction)
    };
    match ty {
        "f16" => u64::from(half(value)),
        "bf16" => u64::from((value as f32).to_bits() >> 16),
        // The lower bits of a register are not part of the number.
        "tf32" => u64::from((value as f32).to_bits() | 0x1abc),
        "f32" => u64::from((value as f32).to_bits()),
        "f64" => f64::from(value).to_bits(),
        "e4m3" => tiny(7, 3),
        "e5m2" => tiny(15, 2),
        ty => value as u32 as u64 & (u64::MAX >> (64 - width(ty))),
    }
}

/// The registers of all lanes for a matrix of elements.
fn pack(ty: &str, total: usize, place: Place, element: &dyn Fn(usize, usize) -> i32) -> Vec<u64> {
    let per = if ty == "f64" { 1 } else { 32 / width(ty) as usize };
    let mut registers = Vec::new();
    for lane in 0..32 {
        for register in 0..total / 32 / per {
            let word = (0..per).fold(0, |word, inside| {
                let (row, column) = place(lane / 4, lane % 4, register * per + inside);
                word | encode(ty, element(row, column)) << (inside as u32 * width(ty))
            });
            registers.push(word);
        }
    }
    registers
}

/// `{%a0, %a1, ...}`.
fn names(prefix: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("%{prefix}{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

fn check(kind: &Kind) {
    let [m, n, k] = kind.shape;
    let [a_type, b_type, c_type] = kind.types;
    let (a, b, c) = (small(m * k, 1), small(k * n, 2), small(m * n, 3));
    let a_of = |row: usize, column: usize| fit(a_type, a[row * k + column]);
    let b_of = |row: usize, column: usize| fit(b_type, b[row * n + column]);
    let c_of = |row: usize, column: usize| c[row * n + column];
    let d_of = |row: usize, column: usize| {
        let product = |i| match kind.opcode.contains("xor") {
            true => a_of(row, i) ^ b_of(i, column),
            false => a_of(row, i) * b_of(i, column),
        };
        c_of(row, column) + (0..k).map(product).sum::<i32>()
    };
    let inputs = [
        pack(a_type, m * k, kind.a, &a_of),
        pack(b_type, k * n, kind.b, &b_of),
        pack(c_type, m * n, kind.c, &c_of),
    ];
    let expected = pack(c_type, m * n, kind.c, &d_of);
    let mut body = String::new();
    let wide = a_type == "f64";
    let mut from = 0;
    for (name, registers) in ["a", "b", "c"].into_iter().zip(&inputs) {
        let count = registers.len() / 32;
        for i in 0..count {
            body += &format!("ld.global.u64 %x, [%in+{}];", from + 8 * i);
            let convert = if wide { "mov.b64" } else { "cvt.u32.u64" };
            body += &format!(" {convert} %{name}{i}, %x;\n");
        }
        from += 8 * count;
    }
    let counts: Vec<usize> = inputs.iter().map(|registers| registers.len() / 32).collect();
    body += &format!(
        "mma.sync.aligned.{} {}, {}, {}, {};\n",
        kind.opcode,
        names("d", counts[2]),
        names("a", counts[0]),
        names("b", counts[1]),
        names("c", counts[2])
    );
    for i in 0..counts[2] {
        let convert = if wide { "mov.b64" } else { "cvt.u64.u32" };
        body += &format!("{convert} %x, %d{i}; st.global.u64 [%out+{}], %x;\n", 8 * i);
    }
    let register = if wide { ".b64" } else { ".b32" };
    let lane: usize = counts.iter().sum();
    let text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 pin, .param .u64 pout) {{\n\
         .reg {register} %a<9>, %b<9>, %c<9>, %d<9>; .reg .b64 %x, %in, %out; .reg .b32 %t;\n\
         ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %t, %tid.x;\n\
         mad.wide.u32 %in, %t, {}, %in; mad.wide.u32 %out, %t, {}, %out;\n{body}ret;\n}}\n",
        8 * lane,
        8 * counts[2]
    );
    let data: Vec<u64> = (0..32)
        .flat_map(|lane| {
            inputs.iter().zip(&counts).flat_map(move |(registers, &count)| {
                registers[lane * count..][..count].iter().copied()
            })
        })
        .collect();
    let done = Bed::text(kind.opcode, text, "k")
        .buffer("in", &data)
        .buffer("out", &vec![0_u64; expected.len()])
        .good();
    assert_eq!(done.get::<u64>("out"), expected, "{}", kind.opcode);
}

#[test]
fn every_shape_of_mma_has_the_layout_of_the_manual() {
    KINDS.iter().for_each(check);
}

#[test]
fn integer_products_wrap_or_saturate() {
    for (saturate, expected) in [("", 3 - 0x8000_0000_i64), (".satfinite", 0x7fff_ffff)] {
        // 16 products of 127 * 127 on top of almost the largest sum.
        let start = 0x7fff_ffff_i64 - 16 * 127 * 127 + 4;
        let body = format!(
            "mov.u32 %r1, 0x7f7f7f7f; mov.u32 %r2, {start};
             mma.sync.aligned.m8n8k16.row.col{saturate}.s32.s8.s8.s32
                 {{%r3, %r4}}, {{%r1}}, {{%r1}}, {{%r2, %r2}};
             st.global.u32 [%rd1], %r3; ret;"
        );
        let got = Bed::body(&body).buffer("p", &[0_u32; 32]).good().get::<u32>("p");
        assert_eq!(got, [expected as u32; 32]);
    }
}

/// The rows of four 8 x 8 matrices in shared memory, with one row of distance between them.
const TILES: &str = ".shared .align 16 .b8 s[1024];
    mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 32, %r1;
    mad.lo.u32 %r3, %r0, 65544, 65536; st.shared.b32 [%r2], %r3;
    add.u32 %r3, %r3, 0x20002; st.shared.b32 [%r2+4], %r3;
    add.u32 %r3, %r3, 0x20002; st.shared.b32 [%r2+8], %r3;
    add.u32 %r3, %r3, 0x20002; st.shared.b32 [%r2+12], %r3; bar.warp.sync -1;";

#[test]
fn ldmatrix_spreads_rows_over_lanes() {
    // Row r holds 8r, 8r + 1, ... in its halves.
    let tiles = TILES.replace("65544, 65536", "0x00080008, 0x00010000");
    for transposed in [false, true] {
        let trans = if transposed { ".trans" } else { "" };
        let body = format!(
            "{tiles} ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r2];
             mad.wide.u32 %rd1, %r0, 16, %rd0; st.global.v4.u32 [%rd1], {{%r4, %r5, %r6, %r7}}; ret;"
        );
        let got = Bed::body(&body).buffer("p", &[0_u32; 128]).good().get::<u32>("p");
        for lane in 0..32 {
            for tile in 0..4 {
                let element = |inside: u32| {
                    let (row, column) = (lane / 4, lane % 4 * 2 + inside);
                    let (row, column) = if transposed { (column, row) } else { (row, column) };
                    64 * tile + 8 * row + column
                };
                let expected = element(0) | element(1) << 16;
                assert_eq!(got[(4 * lane + tile) as usize], expected, "lane {lane}, tile {tile}");
            }
        }
        // Stored the same way, the tiles come back.
        let body = format!(
            "{tiles} ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r2];
             bar.warp.sync -1; st.shared.b32 [%r2], -1; bar.warp.sync -1;
             stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r2], {{%r4, %r5, %r6, %r7}};
             bar.warp.sync -1; ld.shared.v4.u32 {{%r4, %r5, %r6, %r7}}, [%r2];
             mad.wide.u32 %rd1, %r0, 16, %rd0; st.global.v4.u32 [%rd1], {{%r4, %r5, %r6, %r7}}; ret;"
        );
        let got = Bed::body(&body).buffer("p", &[0_u32; 128]).good().get::<u32>("p");
        let expected: Vec<u32> = (0..128).map(|word| 2 * word + ((2 * word + 1) << 16)).collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn movmatrix_transposes_registers() {
    let body = "shl.b32 %r1, %r0, 1; mad.lo.u32 %r1, %r1, 0x10001, 0x10000;
        movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.u32 [%rd1], %r2; ret;";
    let got = Bed::body(body).buffer("p", &[0_u32; 32]).good().get::<u32>("p");
    let element = |row: u32, column: u32| 8 * row + column;
    let expected: Vec<u32> = (0..32)
        .map(|lane| {
            let (row, column) = (lane / 4, lane % 4 * 2);
            element(column, row) | element(column + 1, row) << 16
        })
        .collect();
    assert_eq!(got, expected);
}

/// A product by `wmma`: shape, types of A and B, of C and D as `wmma.mma` names them, registers of
/// each fragment.
type WmmaKind = ([usize; 3], &'static str, &'static str, [usize; 3]);

const WMMA_KINDS: [WmmaKind; 8] = [
    ([16, 16, 16], "f16", "f32.f32", [8, 8, 8]),
    ([32, 8, 16], "f16", "f32.f32", [8, 8, 8]),
    ([8, 32, 16], "f16", "f16.f16", [8, 8, 4]),
    ([16, 16, 16], "bf16", "f32.bf16.bf16.f32", [4, 4, 8]),
    ([16, 16, 8], "tf32", "f32.tf32.tf32.f32", [4, 4, 8]),
    ([8, 8, 4], "f64", "f64.f64.f64.f64", [1, 1, 2]),
    ([16, 16, 16], "s8", "s32.s8.s8.s32", [2, 2, 8]),
    ([8, 32, 16], "u8", "s32.u8.u8.s32", [1, 4, 8]),
];

#[test]
fn wmma_takes_all_shapes_and_orders() {
    for ([m, n, k], ty, types, counts) in WMMA_KINDS {
        for (a_rows, b_rows) in [(true, false), (false, true)] {
            let c_type = types.split('.').next().unwrap_or_default();
            let (a, b, c) = (small(m * k, 5), small(k * n, 6), small(m * n, 7));
            // Rows or columns stand further apart than needed.
            let pad = 16;
            let store = |values: &[i32], rows: usize, columns: usize, by_rows: bool, ty: &str| {
                let (far, near) = if by_rows { (rows, columns) } else { (columns, rows) };
                let size = width(ty) as usize / 8;
                let mut bytes = vec![0xff_u8; far * (near + pad) * size];
                for row in 0..rows {
                    for column in 0..columns {
                        let (f, e) = if by_rows { (row, column) } else { (column, row) };
                        let at = (f * (near + pad) + e) * size;
                        let value = fit(ty, values[row * columns + column]);
                        bytes[at..at + size]
                            .copy_from_slice(&encode(ty, value).to_le_bytes()[..size]);
                    }
                }
                (bytes, near + pad)
            };
            let (a_bytes, a_stride) = store(&a, m, k, a_rows, ty);
            let (b_bytes, b_stride) = store(&b, k, n, b_rows, ty);
            let (c_bytes, c_stride) = store(&c, m, n, true, c_type);
            let order = |rows| if rows { "row" } else { "col" };
            let (oa, ob) = (order(a_rows), order(b_rows));
            let register = if ty == "f64" { ".b64" } else { ".b32" };
            let shape = format!("m{m}n{n}k{k}");
            let [fa, fb, fc] = ["a", "b", "c"].map(|name| {
                names(name, counts[["a", "b", "c"].iter().position(|&x| x == name).unwrap_or(0)])
            });
            let text = format!(
                ".version 8.7\n.target sm_90\n.address_size 64\n\
                 .visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) {{\n\
                 .reg {register} %a<9>, %b<9>, %c<9>; .reg .b64 %pa, %pb, %pc;\n\
                 ld.param.u64 %pa, [pa]; ld.param.u64 %pb, [pb]; ld.param.u64 %pc, [pc];\n\
                 wmma.load.a.sync.aligned.{oa}.{shape}.global.{ty} {fa}, [%pa], {a_stride};\n\
                 wmma.load.b.sync.aligned.{ob}.{shape}.{ty} {fb}, [%pb], {b_stride};\n\
                 wmma.load.c.sync.aligned.row.{shape}.global.{c_type} {fc}, [%pc], {c_stride};\n\
                 wmma.mma.sync.aligned.{oa}.{ob}.{shape}.{types} {fc}, {fa}, {fb}, {fc};\n\
                 wmma.store.d.sync.aligned.row.{shape}.global.{c_type} [%pc], {fc}, {c_stride};\n\
                 ret; }}\n"
            );
            let done = Bed::text(&shape, text, "k")
                .buffer("a", &a_bytes)
                .buffer("b", &b_bytes)
                .buffer("c", &c_bytes)
                .good();
            let sums: Vec<i32> = (0..m * n)
                .map(|at| {
                    let (row, column) = (at / n, at % n);
                    let product = |i: usize| fit(ty, a[row * k + i]) * fit(ty, b[i * n + column]);
                    c[at] + (0..k).map(product).sum::<i32>()
                })
                .collect();
            let (expected, _) = store(&sums, m, n, true, c_type);
            assert_eq!(done.get::<u8>("c"), expected, "{shape} {ty} {oa} {ob}");
        }
    }
}

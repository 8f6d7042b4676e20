//! Kernels aimed at loads and stores in turns: words of two arrays, a random number of bytes apart, that are loaded, changed
//! and stored one by one, in order and out of order, with widths that change and registers that are used again.
//!
//! The program moves the loads in front of the stores and joins both to vectors where a test holds, so each kernel is executed
//! with the arrays at its distance, and at others.

use std::fmt::Write;

use fastrand::Rng;
use serde_json::json;

use super::texts::Aim;
use crate::random::Case;

/// Bytes of each thread in both arrays: those that it accesses lie in the middle, away from other threads' bytes.
const OWN: u32 = 256;

/// The bytes between the arrays, or their lack of alignment; in each launch another one.
const APART: [i32; 14] = [0, 4, -4, 8, -8, 12, -12, 16, -16, 20, -28, 2, -6, 48];

/// Random loads and stores.
struct Maker {
    rng: Rng,
    text: String,
    /// Bytes of an element.
    bytes: u32,
}

impl Maker {
    fn line(&mut self, text: &str) {
        writeln!(self.text, "\t{text}").unwrap();
    }

    fn register(&self, number: u32) -> String {
        match self.bytes {
            2 => format!("%h{number}"),
            4 => format!("%r{number}"),
            _ => format!("%rd{number}"),
        }
    }

    fn load(&mut self, base: &str, element: u32, register: u32) {
        let (bits, offset) = (8 * self.bytes, 64 + element * self.bytes);
        let register = self.register(register);
        let guard = if self.rng.u8(..16) == 0 { "@%p1 " } else { "" };
        self.line(&format!("{guard}ld.global.b{bits} {register}, [{base}+{offset}];"));
    }

    fn store(&mut self, base: &str, element: u32, register: u32) {
        let (bits, offset) = (8 * self.bytes, 64 + element * self.bytes);
        let register = self.register(register);
        let guard = if self.rng.u8(..24) == 0 { "@%p1 " } else { "" };
        self.line(&format!("{guard}st.global.b{bits} [{base}+{offset}], {register};"));
    }

    fn change(&mut self, to: u32, from: u32) {
        let (bits, add) = (8 * self.bytes, self.rng.u32(1..100));
        let (to, from) = (self.register(to), self.register(from));
        self.line(&format!("add.s{bits} {to}, {from}, {add};"));
    }

    /// Elements of one array that become elements of the other, in turns.
    fn turns(&mut self) {
        let count = self.rng.u32(2..=6);
        let first = self.rng.u32(0..=2);
        let mut order: Vec<u32> = (0..count).map(|at| first + at).collect();
        match self.rng.u8(..6) {
            0 => order.reverse(),
            1 => self.rng.shuffle(&mut order),
            _ => {}
        }
        let (from, to) = match self.rng.u8(..8) {
            0 => ("%rd52", "%rd51"),
            // In place.
            1 | 2 => ("%rd51", "%rd51"),
            _ => ("%rd51", "%rd52"),
        };
        let ahead = if self.rng.u8(..4) == 0 { 1 } else { 0 };
        let one_register = self.rng.u8(..3) == 0;
        for (at, element) in order.into_iter().enumerate() {
            let register = if one_register { 10 } else { 10 + at as u32 };
            self.load(from, element + ahead, register);
            if self.rng.u8(..3) == 0 && at > 0 {
                // It depends on what was loaded before.
                let (own, other) = (self.register(register), self.register(10));
                self.line(&format!("xor.b{} {own}, {own}, {other};", 8 * self.bytes));
            }
            match self.rng.u8(..12) {
                0 => self.store(to, element, 5),
                1 => self.line("membar.cta;"),
                2 => self.load(to, element, register + 10),
                // Others in a row.
                3 => (0..4).for_each(|more| self.store(to, 16 + more, register)),
                _ => {}
            }
            self.change(register, register);
            self.store(to, element, register);
        }
    }
}

/// The kernel of a seed.
fn kernel(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0x70_12_5e);
    let bytes = [2, 4, 4, 4, 8][rng.usize(..5)];
    let apart = APART[rng.usize(..APART.len())];
    let of_one = rng.u8(..3) == 0;
    let unaligned = [0, 0, 0, 4, 8][rng.usize(..5)];
    let in_loop = rng.u8(..3) == 0;
    let mut maker = Maker { rng, text: String::new(), bytes };
    for _ in 0..maker.rng.u32(1..=2) {
        maker.turns();
    }
    let turns = maker.text;
    let body = match in_loop {
        true => format!(
            "\tmov.u32 %r40, 0;\nAGAIN:\n{turns}\tadd.s32 %r40, %r40, 1;\n\tsetp.lt.u32 %p2, %r40, 3;\n\t@%p2 bra AGAIN;\n"
        ),
        false => turns,
    };
    // Elements at addresses that are no multiples of their size would be a fault.
    let apart = apart / bytes as i32 * bytes as i32;
    let unaligned = unaligned / bytes * bytes;
    let second = match of_one {
        true => {
            "\tld.param.u32 %r3, [n];\n\tcvt.s64.s32 %rd3, %r3;\n\tadd.s64 %rd52, %rd51, %rd3;\n"
        }
        false => {
            "\tld.param.u64 %rd52, [b];\n\tcvta.to.global.u64 %rd52, %rd52;\n\tadd.s64 %rd52, %rd52, %rd50;\n"
        }
    };
    let name = format!("random_{seed}");
    let ptx = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\n.visible .entry {name}(\n\t.param .u64 a,\n\t.param .u64 b,\n\t.param .u32 n\n)\n\
         {{\n\t.reg .pred %p<4>;\n\t.reg .b16 %h<40>;\n\t.reg .b32 %r<50>;\n\t.reg .b64 %rd<60>;\n{PROLOGUE}{second}{body}\tret;\n}}\n"
    );
    let threads = 64;
    let size = (threads + 2) * OWN;
    let fill =
        |name: u64| json!({"type": "u8", "len": size, "fill": "random", "seed": seed + name});
    let launch = json!({
        "kernel": name,
        "grid": [2, 1, 1],
        "block": [32, 1, 1],
        "limit": 4_000_000,
        "buffers": {"a": fill(0), "b": fill(1)},
        "args": [
            {"buffer": "a", "offset": OWN + unaligned},
            {"buffer": "b", "offset": (OWN as i32 + if of_one { 0 } else { apart }) as u32},
            {"type": "u32", "value": apart as u32},
        ],
    });
    Case { ptx, launch: launch.to_string() }
}

/// The thread's part of the first array in `%rd51`, its offset in `%rd50`.
const PROLOGUE: &str = "\tld.param.u64 %rd51, [a];
\tcvta.to.global.u64 %rd51, %rd51;
\tmov.u32 %r0, %ctaid.x;
\tmov.u32 %r1, %ntid.x;
\tmov.u32 %r2, %tid.x;
\tmad.lo.s32 %r4, %r0, %r1, %r2;
\tmul.wide.u32 %rd50, %r4, 256;
\tadd.s64 %rd51, %rd51, %rd50;
\tsetp.lt.u32 %p1, %r2, 7;
\tmov.u16 %h5, 55;
\tmov.u32 %r5, 5555;
\tmov.u64 %rd5, 55555;
\tmov.u16 %h10, 1;
\tmov.u32 %r10, 1;
\tmov.u64 %rd10, 1;
";

#[test]
fn loads_and_stores_in_turns_compute_the_same() {
    let aim = Aim {
        kernel,
        strategies: "batch,wide",
        // (The kernels have no vectors of their own.)
        is_hit: |text| text.contains("st.global.v"),
        meetings: 1,
        array: "board",
        // Some store a register that only some lanes have loaded.
        invalid: 20,
        hit: 25,
        unproved: 6,
    };
    aim.check();
}

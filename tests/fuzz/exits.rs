//! Kernels aimed at values that a loop keeps in memory: loaded, changed and stored in each iteration or in some, under a
//! condition or a predicate, in loops that branches leave in front of a store and behind it. Another access of the loop
//! moves towards the value, by a constant, a parameter or an index, and may meet it.

use std::fmt::Write;

use fastrand::Rng;
use serde_json::json;

use super::texts::Aim;
use crate::random::Case;

/// Bytes of each thread in both arrays.
const OWN: u32 = 256;

/// Bytes from the values to the first place of the access that moves.
const AHEAD: [i32; 10] = [-16, -12, -8, -4, 0, 4, 64, -64, 128, 6];

struct Maker {
    rng: Rng,
    text: String,
    labels: u32,
}

impl Maker {
    fn line(&mut self, text: &str) {
        writeln!(self.text, "\t{text}").unwrap();
    }

    /// A condition that some lanes or some iterations meet.
    fn condition(&mut self, to: u32) {
        let bound = self.rng.u32(..6);
        match self.rng.u8(..4) {
            0 => self.line(&format!("setp.eq.u32 %p{to}, %r40, {bound};")),
            1 => self.line(&format!("setp.gt.u32 %p{to}, %r2, {};", 7 * bound)),
            2 => self.line(&format!("setp.lt.u32 %p{to}, %r12, 0x30000000;")),
            _ => self.line(&format!("setp.gt.s32 %p{to}, %r10, 0x50000000;")),
        }
    }

    /// A store of a value, in some iterations or in all.
    fn store(&mut self, place: u32, register: u32) {
        let store = format!("st.global.b32 [%rd51+{place}], %r{register};");
        match self.rng.u8(..5) {
            0 => {
                self.condition(3);
                self.line(&format!("@%p3 {store}"));
            }
            1 => {
                self.condition(3);
                self.labels += 1;
                let label = format!("SKIP{}", self.labels);
                self.line(&format!("@%p3 bra {label};"));
                self.line(&store);
                writeln!(self.text, "{label}:").unwrap();
            }
            _ => self.line(&store),
        }
    }

    fn leave(&mut self) {
        if self.rng.u8(..3) == 0 {
            self.condition(4);
            self.line("@%p4 bra OUT;");
        }
    }

    /// A value at a place: loaded first, or only stored.
    fn value(&mut self, place: u32, register: u32) {
        let guard = if self.rng.u8(..12) == 0 { "@%p1 " } else { "" };
        if self.rng.u8(..5) > 0 {
            self.line(&format!("{guard}ld.global.b32 %r{register}, [%rd51+{place}];"));
        }
        self.leave();
        self.line(&format!("add.s32 %r{register}, %r{register}, %r12;"));
        self.store(place, register);
        self.leave();
        if self.rng.u8(..6) == 0 {
            self.line(&format!("ld.global.b32 %r{}, [%rd51+{place}];", register + 10));
            self.line(&format!("xor.b32 %r{register}, %r{register}, %r{};", register + 10));
            self.store(place, register);
        }
    }
}

/// The kernel of a seed.
fn kernel(seed: u64) -> Case {
    let rng = Rng::with_seed(seed ^ 0xe_71_75);
    let mut maker = Maker { rng, text: String::new(), labels: 0 };
    maker.line("ld.global.b32 %r12, [%rd52];");
    if maker.rng.u8(..4) == 0 {
        maker.leave();
    }
    maker.value(64, 10);
    if maker.rng.u8(..3) == 0 {
        maker.value(72, 11);
    }
    if maker.rng.u8(..4) == 0 {
        maker.line("st.global.b32 [%rd52+32], %r12;");
    }
    let turns = maker.text;
    let step = [4, 4, 4, 8, -4][maker.rng.usize(..5)];
    let (indexed, moved, given) = match maker.rng.u8(..4) {
        0 => ("", format!("add.s64 %rd52, %rd52, {step};"), 0),
        1 => {
            let given = [4, 8, -4, 0, 12][maker.rng.usize(..5)];
            ("", "add.s64 %rd52, %rd52, %rd53;".to_owned(), given)
        }
        // The index of the first iteration is a parameter.
        _ => (INDEXED, format!("add.s32 %r41, %r41, {};", step / 4), maker.rng.i32(-9..9)),
    };
    let iterations = maker.rng.u32(..7);
    let ahead = AHEAD[maker.rng.usize(..AHEAD.len())] / 4 * 4;
    let name = format!("random_{seed}");
    let ptx = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\n.visible .entry {name}(\n\t.param .u64 a,\n\t.param .u64 b,\n\t.param .u32 n,\n\t.param .u64 step\n)\n\
         {{\n\t.reg .pred %p<6>;\n\t.reg .b32 %r<50>;\n\t.reg .b64 %rd<60>;\n{PROLOGUE}\tsetp.eq.u32 %p5, %r3, 0;\n\t@%p5 bra OUT;\n\
         AGAIN:\n{indexed}{turns}\t{moved}\n\tadd.s32 %r40, %r40, 1;\n\tsetp.lt.u32 %p2, %r40, %r3;\n\t@%p2 bra AGAIN;\n\
         OUT:\n\txor.b32 %r10, %r10, %r11;\n\tst.global.b32 [%rd51+128], %r10;\n\tret;\n}}\n"
    );
    let size = (64 + 2) * OWN;
    let fill =
        |name: u64| json!({"type": "u8", "len": size, "fill": "random", "seed": seed + name});
    let (of, at) = match maker.rng.u8(..3) {
        0 => ("b", OWN as i32 + 64),
        _ => ("a", OWN as i32 + 64 + ahead),
    };
    let launch = json!({
        "kernel": name,
        "grid": [2, 1, 1],
        "block": [32, 1, 1],
        "limit": 4_000_000,
        "buffers": {"a": fill(0), "b": fill(1)},
        "args": [
            {"buffer": "a", "offset": OWN},
            {"buffer": of, "offset": at as u32},
            {"type": "u32", "value": iterations},
            {"type": "s64", "value": given},
        ],
    });
    Case { ptx, launch: launch.to_string() }
}

/// The place of the access that moves, by an index.
const INDEXED: &str = "\tmul.wide.s32 %rd52, %r41, 4;
\tadd.s64 %rd52, %rd55, %rd52;
";

/// The thread's part of both arrays in `%rd51` and `%rd52`.
const PROLOGUE: &str = "\tld.param.u64 %rd51, [a];
\tld.param.u64 %rd52, [b];
\tld.param.u32 %r3, [n];
\tld.param.u64 %rd53, [step];
\tcvta.to.global.u64 %rd51, %rd51;
\tcvta.to.global.u64 %rd52, %rd52;
\tmov.u32 %r0, %ctaid.x;
\tmov.u32 %r1, %ntid.x;
\tmov.u32 %r2, %tid.x;
\tmad.lo.s32 %r4, %r0, %r1, %r2;
\tmul.wide.u32 %rd50, %r4, 256;
\tadd.s64 %rd51, %rd51, %rd50;
\tadd.s64 %rd52, %rd52, %rd50;
\tcvt.u32.u64 %r41, %rd53;
\tmul.wide.s32 %rd54, %r41, 4;
\tsub.s64 %rd55, %rd52, %rd54;
\tsetp.lt.u32 %p1, %r2, 7;
\tmov.u32 %r10, 1;
\tmov.u32 %r11, 2;
\tmov.u32 %r40, 0;
";

#[test]
fn values_of_loops_with_exits_compute_the_same() {
    let aim = Aim {
        kernel,
        strategies: "promote",
        is_hit: |text| text.contains("$ptxasw_loop"),
        meetings: 1,
        array: "board",
        invalid: 10,
        hit: 30,
        unproved: 1,
    };
    aim.check();
}

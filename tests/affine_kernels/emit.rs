//! Spells a random kernel as PTX, in the many ways in which compilers spell the same value.

use std::collections::HashMap;
use std::fmt::Write;

use super::evaluate::offsets;
use super::kernel::{Access, Arithmetic, Kernel, Load, Loop, Pitch, Rows, Spelling};

/// A kernel's text.
pub struct Text {
    pub ptx: String,
    /// The 1-based line of each load.
    pub lines: Vec<u32>,
}

/// Writes the kernel `affine(a0, a1, out, n, w, s, steps)`. Every thread of a block stores its loaded values to its own
/// part of `out`.
pub fn emit(kernel: &Kernel) -> Text {
    let mut writer = Writer {
        kernel,
        body: String::new(),
        used: [0; 6],
        bases: Vec::new(),
        shared: HashMap::new(),
    };
    let (opcodes, results) = writer.body();
    let names = ["%p<", "%h<", "%r<", "%rd<", "%f<", "%fd<"];
    let types = [".pred", ".b16", ".b32", ".b64", ".f32", ".f64"];
    let mut ptx = String::from(".version 7.8\n.target sm_80\n.address_size 64\n\n");
    ptx += ".visible .entry affine(.param .u64 a0, .param .u64 a1, .param .u64 out, ";
    ptx += ".param .u32 n, .param .u32 w, .param .u32 s, .param .u32 steps)\n";
    if let Some([x, y, z]) = kernel.required {
        let _ = writeln!(ptx, ".reqntid {x}, {y}, {z}");
    }
    ptx += "{\n";
    for ((name, ty), used) in names.iter().zip(types).zip(writer.used) {
        let _ = writeln!(ptx, "\t.reg {ty} {name}{}>;", used + 1);
    }
    ptx += &writer.body;
    ptx += "END:\n\tret;\n}\n";
    debug_assert_eq!(results, kernel.loads.len());
    let lines = (1..)
        .zip(ptx.lines())
        .filter(|(_, line)| opcodes.iter().any(|opcode| line.contains(opcode.as_str())))
        .map(|(number, _)| number)
        .collect();
    Text { ptx, lines }
}

struct Writer<'k> {
    kernel: &'k Kernel,
    body: String,
    /// Registers used: predicates, 16, 32 and 64 bits, single and double precision.
    used: [u32; 6],
    /// The arrays' addresses.
    bases: Vec<String>,
    /// The shared index or address of a row, by its kind and numbers.
    shared: HashMap<(&'static str, usize, i32), String>,
}

const P: (usize, &str) = (0, "%p");
const H: (usize, &str) = (1, "%h");
const R: (usize, &str) = (2, "%r");
const RD: (usize, &str) = (3, "%rd");
const F: (usize, &str) = (4, "%f");
const FD: (usize, &str) = (5, "%fd");

impl Writer<'_> {
    fn fresh(&mut self, (kind, prefix): (usize, &str)) -> String {
        self.used[kind] += 1;
        format!("{prefix}{}", self.used[kind])
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "\t{text};");
    }

    /// `opcode fresh, operands`
    fn make(&mut self, kind: (usize, &str), opcode: &str, operands: &[&str]) -> String {
        let result = self.fresh(kind);
        self.line(&format!("{opcode} {result}, {}", operands.join(", ")));
        result
    }

    fn sign(&self) -> char {
        if self.kernel.arithmetic.signed() { 's' } else { 'u' }
    }

    /// Everything but declarations; the loads' opcodes and their number.
    fn body(&mut self) -> (Vec<String>, usize) {
        let kernel = self.kernel;
        for name in ["a0", "a1"] {
            let generic = self.make(RD, "ld.param.u64", &[&format!("[{name}]")]);
            let base = match kernel.generic {
                true => generic,
                false => self.make(RD, "cvta.to.global.u64", &[&generic]),
            };
            self.bases.push(base);
        }
        let special = |name: &str| format!("%{name}");
        let ctaid = self.make(R, "mov.u32", &[&special("ctaid.x")]);
        let ntid = self.make(R, "mov.u32", &[&special("ntid.x")]);
        let tid = self.make(R, "mov.u32", &[&special("tid.x")]);
        let n = self.make(R, "ld.param.u32", &["[n]"]);
        let steps = self.make(R, "ld.param.u32", &["[steps]"]);
        let out = self.out(&tid);
        let mut x = match kernel.grid {
            true => self.make(R, "mad.lo.s32", &[&ctaid, &ntid, &tid]),
            false => tid,
        };
        self.guard(&x, &n);
        let iteration = match kernel.around {
            Loop::None => None,
            Loop::GridStride => {
                let i = self.make(R, "mov.u32", &[&x]);
                let skip = self.fresh(P);
                let sign = self.sign();
                self.line(&format!("setp.ge.{sign}32 {skip}, {i}, {n}"));
                self.line(&format!("@{skip} bra END"));
                x = i.clone();
                Some(i)
            }
            _ => Some(self.make(R, "mov.u32", &["0"])),
        };
        let prepared = self.prepared(&x);
        if kernel.around != Loop::None {
            self.body += "LOOP:\n";
        }
        let term = self.iteration_term(iteration.as_deref());
        let mut opcodes = Vec::new();
        let mut results = Vec::new();
        for (index, load) in kernel.loads.iter().enumerate() {
            let (address, immediate) = match &prepared {
                Some(prepared) => prepared[index].clone(),
                None => self.address(load, &x, term.as_deref()),
            };
            let (opcode, registers) = self.load(load, &address, immediate);
            opcodes.push(opcode);
            results.push(registers);
        }
        opcodes.sort();
        opcodes.dedup();
        for (index, (load, registers)) in kernel.loads.iter().zip(&results).enumerate() {
            let suffix = load.access.suffix();
            self.line(&format!("st.global.{suffix} [{out}+{}], {registers}", index * 16));
        }
        if let Some(iteration) = iteration {
            self.latch(&iteration, &ntid, &n, &steps, prepared.as_deref(), term);
        }
        (opcodes, results.len())
    }

    /// The place in `out` of a block's thread.
    fn out(&mut self, tid: &str) -> String {
        let base = self.make(RD, "ld.param.u64", &["[out]"]);
        let base = self.make(RD, "cvta.to.global.u64", &[&base]);
        let ntid: Vec<String> =
            ["%ntid.x", "%ntid.y"].iter().map(|name| self.make(R, "mov.u32", &[name])).collect();
        let tids: Vec<String> =
            ["%tid.y", "%tid.z"].iter().map(|name| self.make(R, "mov.u32", &[name])).collect();
        let plane = self.make(R, "mad.lo.u32", &[&tids[1], &ntid[1], &tids[0]]);
        let number = self.make(R, "mad.lo.u32", &[&plane, &ntid[0], tid]);
        let bytes = (self.kernel.loads.len() * 16).to_string();
        self.make(RD, "mad.wide.u32", &[&number, &bytes, &base])
    }

    fn guard(&mut self, x: &str, n: &str) {
        let Some((low, high)) = self.kernel.guard else { return };
        let sign = self.sign();
        let (below, above, outside) = (self.fresh(P), self.fresh(P), self.fresh(P));
        let end = self.make(R, "add.s32", &[n, &(-high).to_string()]);
        self.line(&format!("setp.lt.{sign}32 {below}, {x}, {low}"));
        self.line(&format!("setp.ge.{sign}32 {above}, {x}, {end}"));
        self.line(&format!("or.pred {outside}, {below}, {above}"));
        self.line(&format!("@{outside} bra END"));
    }

    /// The addresses of all loads in registers that the loop will move.
    fn prepared(&mut self, x: &str) -> Option<Vec<(String, i64)>> {
        matches!(self.kernel.around, Loop::Pointer { .. }).then(|| {
            let loads = self.kernel.loads.clone();
            loads.iter().map(|load| self.address(load, x, None)).collect()
        })
    }

    /// What an iteration adds to the index.
    fn iteration_term(&mut self, iteration: Option<&str>) -> Option<String> {
        match (self.kernel.around, iteration) {
            (Loop::Index { step, multiplied: true }, Some(iteration)) => {
                Some(self.make(R, "mul.lo.s32", &[iteration, &step.to_string()]))
            }
            // The register itself moves in larger steps.
            (Loop::Index { multiplied: false, .. }, Some(iteration)) => Some(iteration.to_owned()),
            _ => None,
        }
    }

    fn latch(
        &mut self,
        iteration: &str,
        ntid: &str,
        n: &str,
        steps: &str,
        prepared: Option<&[(String, i64)]>,
        term: Option<String>,
    ) {
        let sign = self.sign();
        let (step, end) = match self.kernel.around {
            Loop::GridStride => {
                let nctaid = self.make(R, "mov.u32", &["%nctaid.x"]);
                (self.make(R, "mul.lo.s32", &[&nctaid, ntid]), n.to_owned())
            }
            Loop::Index { step, multiplied: false } if term.is_some() => {
                (step.to_string(), self.make(R, "mul.lo.s32", &[steps, &step.to_string()]))
            }
            _ => ("1".to_owned(), steps.to_owned()),
        };
        if let Loop::Pointer { step } = self.kernel.around {
            let mut moved: Vec<&String> =
                prepared.iter().flat_map(|p| p.iter().map(|(a, _)| a)).collect();
            moved.sort();
            moved.dedup();
            let bytes = i64::from(step) * i64::from(self.kernel.unit);
            for address in moved {
                self.line(&format!("add.s64 {address}, {address}, {bytes}"));
            }
        }
        self.line(&format!("add.s32 {iteration}, {iteration}, {step}"));
        let again = self.fresh(P);
        let compare = match self.kernel.around {
            Loop::Index { multiplied: false, .. } => "ne.s32".to_owned(),
            _ => format!("lt.{sign}32"),
        };
        self.line(&format!("setp.{compare} {again}, {iteration}, {end}"));
        self.line(&format!("@{again} bra LOOP"));
    }

    /// The opcode as it stands in the text, and the destination.
    fn load(&mut self, load: &Load, address: &str, immediate: i64) -> (String, String) {
        let kind = match load.access {
            Access::F32 | Access::V2F32 | Access::V4F32 => F,
            Access::F64 | Access::V2F64 => FD,
            Access::U32 | Access::U8 | Access::S8 => R,
            Access::U16 => H,
            Access::U64 => RD,
        };
        let count = load.access.elements().0;
        let names: Vec<String> = (0..count).map(|_| self.fresh(kind)).collect();
        let registers = match count {
            1 => names[0].clone(),
            _ => format!("{{{}}}", names.join(", ")),
        };
        let space = if self.kernel.generic { "" } else { "global." };
        let opcode = format!("ld.{space}{}", load.access.suffix());
        let operand = match immediate {
            0 => address.to_owned(),
            _ => format!("{address}+{immediate}"),
        };
        self.line(&format!("{opcode} {registers}, [{operand}]"));
        (opcode, registers)
    }

    /// A register with the load's address but for the bytes that go into the immediate.
    fn address(&mut self, load: &Load, x: &str, term: Option<&str>) -> (String, i64) {
        let (column, immediate) = offsets(self.kernel, load);
        if load.spelling == Spelling::Immediate {
            let key = ("address", load.array, load.row);
            if let Some(known) = self.shared.get(&key) {
                return (known.clone(), immediate);
            }
            let index = self.shared_index(load, x, term);
            let address = self.scaled(load, &index);
            self.shared.insert(key, address.clone());
            return (address, immediate);
        }
        let wide = matches!(self.kernel.arithmetic, Arithmetic::Wide { .. });
        let (kind, width) = if wide { (RD, 64) } else { (R, 32) };
        let index = match load.spelling {
            Spelling::Anew => {
                let index = self.index(load, x, term, true);
                self.make(kind, &format!("add.s{width}"), &[&column.to_string(), &index])
            }
            Spelling::SubtractFromIndex => {
                let index = self.shared_index(load, x, term);
                self.make(kind, &format!("sub.s{width}"), &[&index, &(-column).to_string()])
            }
            Spelling::Or => {
                let index = self.shared_index(load, x, term);
                self.make(kind, &format!("or.b{width}"), &[&index, &column.to_string()])
            }
            _ => {
                let index = self.shared_index(load, x, term);
                self.make(kind, &format!("add.s{width}"), &[&index, &column.to_string()])
            }
        };
        (self.scaled(load, &index), immediate)
    }

    /// The row's index without column, computed once.
    fn shared_index(&mut self, load: &Load, x: &str, term: Option<&str>) -> String {
        let key = ("index", 0, load.row);
        if let Some(known) = self.shared.get(&key) {
            return known.clone();
        }
        let index = self.index(load, x, term, false);
        self.shared.insert(key, index.clone());
        index
    }

    /// The row's index without column; `other` chooses other instructions.
    fn index(&mut self, load: &Load, x: &str, term: Option<&str>, other: bool) -> String {
        let kernel = self.kernel;
        let wide = matches!(kernel.arithmetic, Arithmetic::Wide { .. });
        let sign = self.sign();
        let (kind, width) = if wide { (RD, 64) } else { (R, 32) };
        let widen = |writer: &mut Self, register: String| match wide {
            true => writer.make(RD, &format!("cvt.{sign}64.{sign}32"), &[&register]),
            false => register,
        };
        let x = widen(self, x.to_owned());
        let stride = kernel.stride;
        let mut sum = match stride {
            1 if !other => x,
            -1 if !other => self.make(kind, &format!("neg.s{width}"), &[&x]),
            2 | 4 if !other => {
                let places = stride.trailing_zeros().to_string();
                self.make(kind, &format!("shl.b{width}"), &[&x, &places])
            }
            _ => self.make(kind, &format!("mul.lo.s{width}"), &[&x, &stride.to_string()]),
        };
        if let Some(row) = self.row(load, sign) {
            sum = self.add_row(&sum, &row, load, kind, width);
        }
        if kernel.shifted {
            let s = self.make(R, "ld.param.u32", &["[s]"]);
            let s = widen(self, s);
            sum = self.make(kind, &format!("add.s{width}"), &[&s, &sum]);
        }
        if let Some(term) = term {
            // A step may be negative whatever the sign of the index.
            let term = match wide {
                true => self.make(RD, "cvt.s64.s32", &[term]),
                false => term.to_owned(),
            };
            sum = self.make(kind, &format!("add.s{width}"), &[&sum, &term]);
        }
        sum
    }

    /// The row in 32 bits.
    fn row(&mut self, load: &Load, _sign: char) -> Option<String> {
        let ctaid = match self.kernel.rows {
            Rows::None => return None,
            _ => self.make(R, "mov.u32", &["%ctaid.y"]),
        };
        let y = match self.kernel.rows {
            Rows::Thread => {
                let ntid = self.make(R, "mov.u32", &["%ntid.y"]);
                let tid = self.make(R, "mov.u32", &["%tid.y"]);
                self.make(R, "mad.lo.s32", &[&ctaid, &ntid, &tid])
            }
            _ => ctaid,
        };
        Some(match load.row {
            0 => y,
            row => self.make(R, "add.s32", &[&y, &row.to_string()]),
        })
    }

    fn add_row(
        &mut self,
        sum: &str,
        row: &str,
        load: &Load,
        kind: (usize, &str),
        width: u32,
    ) -> String {
        let pitch = match self.kernel.pitch {
            Pitch::Parameter => self.make(R, "ld.param.u32", &["[w]"]),
            Pitch::Constant(pitch) => pitch.to_string(),
        };
        let sign = self.sign();
        let (multiply, fuse) = match width {
            64 => (format!("mul.wide.{sign}32"), format!("mad.wide.{sign}32")),
            _ => ("mul.lo.s32".to_owned(), "mad.lo.s32".to_owned()),
        };
        if load.fused {
            return self.make(kind, &fuse, &[row, &pitch, sum]);
        }
        let product = self.make(kind, &multiply, &[row, &pitch]);
        self.make(kind, &format!("add.s{width}"), &[&product, sum])
    }

    /// The address of an index.
    fn scaled(&mut self, load: &Load, index: &str) -> String {
        let base = self.bases[load.array].clone();
        let sign = self.sign();
        let unit = self.kernel.unit;
        let size = unit.to_string();
        let places = unit.is_power_of_two().then(|| unit.trailing_zeros().to_string());
        let places = places.filter(|_| load.shift);
        let extend = format!("cvt.{sign}64.{sign}32");
        let offset = match (self.kernel.arithmetic, places) {
            (Arithmetic::Narrow { .. }, None) if load.fused => {
                return self.make(RD, &format!("mad.wide.{sign}32"), &[index, &size, &base]);
            }
            (Arithmetic::Narrow { .. }, None) => {
                self.make(RD, &format!("mul.wide.{sign}32"), &[index, &size])
            }
            (Arithmetic::Narrow { .. }, Some(places)) => {
                let wide = self.make(RD, &extend, &[index]);
                self.make(RD, "shl.b64", &[&wide, &places])
            }
            (Arithmetic::NarrowBytes { .. }, places) => {
                let bytes = match places {
                    Some(places) => self.make(R, "shl.b32", &[index, &places]),
                    None => self.make(R, "mul.lo.s32", &[index, &size]),
                };
                self.make(RD, &extend, &[&bytes])
            }
            (Arithmetic::Wide { .. }, Some(places)) => self.make(RD, "shl.b64", &[index, &places]),
            (Arithmetic::Wide { .. }, None) if load.fused => {
                return self.make(RD, "mad.lo.s64", &[index, &size, &base]);
            }
            (Arithmetic::Wide { .. }, None) => self.make(RD, "mul.lo.s64", &[index, &size]),
        };
        self.make(RD, "add.s64", &[&base, &offset])
    }
}

//! A tree as PTX: values, addresses and loads. (Control flow and memory: `statements`.)

use super::kernel::{
    Access, Array, COLUMN, Condition, Destination, HALO, Kernel, Load, MAX_OFFSET, SLOT, Spelling,
    Test, Var,
};
use super::launch::{PARAMETERS, launch};
use super::writer::{Kind, Writer};

/// A kernel's text and its launch.
#[derive(Clone, Debug)]
pub struct Case {
    pub ptx: String,
    /// The launch file.
    pub launch: String,
}

/// Spells a kernel and its launch.
pub fn emit(kernel: &Kernel) -> Case {
    let mut writer = Writer::new(kernel);
    writer.kernel();
    let parameters: Vec<String> = PARAMETERS
        .iter()
        .filter(|p| writer.parameters.contains(p.name))
        .map(|p| match p.name == "tight" && kernel.declared && kernel.shift == 0 {
            true => format!("\t.param .u64 .ptr .global .align 16 {}", p.name),
            false => format!("\t.param .u{} {}", p.bits, p.name),
        })
        .collect();
    let version = if kernel.target < 100 { "7.8" } else { "8.8" };
    let mut ptx = format!(".version {version}\n.target sm_{}\n.address_size 64\n\n", kernel.target);
    ptx.extend(writer.functions.iter().map(|name| super::together::function(name, kernel.seed)));
    ptx += &format!(".visible .entry random_{}(\n{})\n", kernel.seed, parameters.join(",\n"));
    if kernel.required {
        let [x, y, z] = kernel.block;
        ptx += &format!(".reqntid {x}, {y}, {z}\n");
    }
    ptx += &format!("{{\n{}{}{}}}\n", writer.declarations(), writer.prologue, writer.body);
    Case { ptx, launch: launch(kernel, &writer) }
}

impl Writer<'_> {
    /// A value as an operand of 32 bits.
    pub fn value(&mut self, var: Var) -> String {
        let special = |writer: &mut Self, name: &'static str| {
            writer.at_entry(name, Kind::Word, |w, r| w.first(&format!("mov.u32 {r}, {name}")))
        };
        let zero = "0".to_owned();
        match var {
            Var::TidX => special(self, "%tid.x"),
            Var::TidY => special(self, "%tid.y"),
            Var::TidZ => special(self, "%tid.z"),
            Var::CtaidX => special(self, "%ctaid.x"),
            Var::CtaidY => special(self, "%ctaid.y"),
            Var::Lane => special(self, "%laneid"),
            Var::X => {
                let (tid, cta) = (special(self, "%tid.x"), special(self, "%ctaid.x"));
                let size = special(self, "%ntid.x");
                self.at_entry("x", Kind::Word, |w, r| {
                    w.first(&format!("mad.lo.s32 {r}, {cta}, {size}, {tid}"));
                })
            }
            Var::Linear => {
                let (x, y, z) =
                    (special(self, "%tid.x"), special(self, "%tid.y"), special(self, "%tid.z"));
                let (size_x, size_y) = (special(self, "%ntid.x"), special(self, "%ntid.y"));
                self.at_entry("linear", Kind::Word, |w, r| {
                    w.first(&format!("mad.lo.s32 {r}, {z}, {size_y}, {y}"));
                    w.first(&format!("mad.lo.s32 {r}, {r}, {size_x}, {x}"));
                })
            }
            Var::Row => {
                let (x, width) = (self.value(Var::X), self.parameter("w"));
                self.at_entry("row", Kind::Word, |w, r| {
                    w.first(&format!("div.s32 {r}, {x}, {width}"));
                })
            }
            Var::Place => {
                let (x, width) = (self.value(Var::X), self.parameter("w"));
                // As compilers spell it: by a division of its own, or from the quotient.
                if self.kernel.seed.is_multiple_of(3) {
                    return self.at_entry("place", Kind::Word, |w, r| {
                        w.first(&format!("rem.u32 {r}, {x}, {width}"));
                    });
                }
                let row = self.value(Var::Row);
                self.at_entry("place", Kind::Word, |w, r| {
                    w.first(&format!("mul.lo.s32 {r}, {row}, {width}"));
                    w.first(&format!("sub.s32 {r}, {x}, {r}"));
                })
            }
            Var::N => self.parameter("n"),
            Var::Iteration => self.around.counters.last().cloned().unwrap_or(zero),
            Var::Outer => self.around.counters.iter().rev().nth(1).cloned().unwrap_or(zero),
            Var::Carried => self.around.carried.clone().unwrap_or(zero),
            Var::After => self.around.after.clone().unwrap_or(zero),
            Var::Defined => self.around.defined.clone().unwrap_or(zero),
            Var::Loaded => self.around.loaded.clone().unwrap_or(zero),
            Var::Cursor => {
                self.at_entry("cursor", Kind::Word, |w, r| w.first(&format!("mov.u32 {r}, 0")))
            }
        }
    }

    /// The number of the block in the grid.
    pub fn block_number(&mut self) -> String {
        let (x, y) = (self.value(Var::CtaidX), self.value(Var::CtaidY));
        self.at_entry("block", Kind::Word, |w, r| {
            w.first(&format!("mov.u32 {r}, %nctaid.x"));
            w.first(&format!("mad.lo.s32 {r}, {y}, {r}, {x}"));
        })
    }

    /// The number of the thread in the grid.
    pub fn thread_number(&mut self) -> String {
        let (block, thread) = (self.block_number(), self.value(Var::Linear));
        let threads = self.kernel.threads();
        self.at_entry("thread", Kind::Word, |w, r| {
            w.first(&format!("mad.lo.s32 {r}, {block}, {threads}, {thread}"));
        })
    }

    /// A kernel parameter of 32 bits.
    fn parameter(&mut self, name: &'static str) -> String {
        self.parameters.insert(name);
        self.at_entry(name, Kind::Word, |w, r| w.first(&format!("ld.param.u32 {r}, [{name}]")))
    }

    /// A kernel parameter that is a pointer, as a generic or global address.
    pub fn pointer(&mut self, name: &'static str, generic: bool) -> String {
        self.parameters.insert(name);
        let pointer = self
            .at_entry(name, Kind::Double, |w, r| w.first(&format!("ld.param.u64 {r}, [{name}]")));
        if generic {
            return pointer;
        }
        let global = PARAMETERS.iter().find(|p| p.name == name).map_or("", |p| p.global);
        self.at_entry(global, Kind::Double, |w, r| {
            w.first(&format!("cvta.to.global.u64 {r}, {pointer}"));
        })
    }

    /// The thread's own part of a buffer that has `bytes` bytes for each thread.
    pub fn own(&mut self, buffer: &'static str, entry: &'static str, bytes: u32) -> String {
        let threads = u64::from(self.kernel.threads() * self.kernel.blocks());
        self.extend(buffer, threads * u64::from(bytes));
        let (pointer, thread) = (self.pointer(buffer, false), self.thread_number());
        self.at_entry(entry, Kind::Double, |w, r| {
            w.first(&format!("mad.wide.u32 {r}, {thread}, {bytes}, {pointer}"));
        })
    }

    /// The middle of the thread's own column.
    pub fn column(&mut self) -> String {
        let column = self.own("col", "column start", COLUMN);
        self.at_entry("column", Kind::Double, |w, r| {
            w.first(&format!("add.s64 {r}, {column}, {}", COLUMN / 2));
        })
    }

    /// Notes the bytes that a load of the tight input may read.
    fn tighten(&mut self, load: &Load) {
        let reach = |sign: i32| i64::from(self.kernel.reach(&load.terms, |c| c.signum() == sign));
        let bias = if load.signed { 0 } else { reach(-1) + i64::from(MAX_OFFSET) };
        let (unit, still) = (i64::from(load.unit), bias + i64::from(load.offset));
        let first = unit * (still - reach(-1)) + i64::from(load.field);
        let end = unit * (still + reach(1)) + i64::from(load.field + load.access.bytes());
        self.tight = (self.tight.0.min(first), self.tight.1.max(end));
    }

    /// The block's part of the published array.
    pub fn published(&mut self) -> String {
        let words = self.kernel.threads() + 2 * HALO;
        self.extend("pub", u64::from(self.kernel.blocks() * words * 4));
        let (pointer, block) = (self.pointer("pub", false), self.block_number());
        self.at_entry("published", Kind::Double, |w, r| {
            w.first(&format!("mad.wide.u32 {r}, {block}, {}, {pointer}", 4 * words));
            w.first(&format!("add.s64 {r}, {r}, {}", 4 * HALO));
        })
    }

    /// A condition as a guard predicate: `%p` or `!%p`.
    pub fn condition(&mut self, condition: Condition) -> String {
        let value = self.value(condition.var);
        let predicate = match condition.test {
            Test::Less(bound) => {
                self.make(Kind::Predicate, "setp.lt.u32", &[&value, &bound.to_string()])
            }
            Test::Bit(bit) => {
                let bit = self.make(Kind::Word, "and.b32", &[&value, &(1 << bit).to_string()]);
                self.make(Kind::Predicate, "setp.ne.s32", &[&bit, "0"])
            }
        };
        if condition.negated { format!("!{predicate}") } else { predicate }
    }

    /// The same in a register that keeps it, for variables that keep theirs.
    fn lasting_condition(&mut self, condition: Condition) -> String {
        if let Some((_, known)) = self.around.guards.iter().find(|(one, _)| *one == condition) {
            return known.clone();
        }
        let found = self.condition(condition);
        let (sign, found) = match found.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", found.as_str()),
        };
        let kept = self.lasting(Kind::Predicate);
        self.line(&format!("mov.pred {kept}, {found}"));
        let kept = format!("{sign}{kept}");
        self.around.guards.push((condition, kept.clone()));
        kept
    }

    /// The sum of terms in 32 bits; with a bias for unsigned indices, which must not be negative.
    fn index(&mut self, terms: &[(i32, Var)], signed: bool) -> String {
        let mut sum: Option<String> = None;
        for &(coefficient, var) in terms {
            let value = self.value(var);
            sum = Some(match (sum, coefficient) {
                (None, 1) => value,
                (None, _) => {
                    self.make(Kind::Word, "mul.lo.s32", &[&value, &coefficient.to_string()])
                }
                (Some(sum), 1) => self.make(Kind::Word, "add.s32", &[&sum, &value]),
                (Some(sum), _) => {
                    let coefficient = coefficient.to_string();
                    self.make(Kind::Word, "mad.lo.s32", &[&value, &coefficient, &sum])
                }
            });
        }
        let sum = sum.unwrap_or_else(|| "0".to_owned());
        let bias = self.kernel.reach(terms, |coefficient| coefficient < 0) + MAX_OFFSET;
        let sum = match signed {
            true => sum,
            false => self.make(Kind::Word, "add.s32", &[&sum, &bias.to_string()]),
        };
        // A constant is not at hand in a register.
        if sum.starts_with('%') { sum } else { self.make(Kind::Word, "mov.u32", &[&sum]) }
    }

    /// The buffer of an array, and the register that points into it.
    fn base(&mut self, load: &Load) -> (&'static str, String) {
        let generic = load.generic;
        match load.array {
            Array::A => ("a", self.pointer("a", generic)),
            Array::B => ("b", self.pointer("b", generic)),
            Array::Far if load.signed => ("far1", self.pointer("far1", generic)),
            Array::Far => ("far0", self.pointer("far0", generic)),
            Array::Own => ("own", self.own("own", "slot", SLOT)),
            Array::Published => ("pub", self.published()),
            Array::Either => ("a", self.either()),
            Array::Column => ("col", self.column()),
            Array::Tight => ("tight", self.pointer("tight", generic)),
        }
    }

    /// The address register of a load, and the bytes that remain to be added to it.
    pub fn address(&mut self, load: &Load) -> (String, i64) {
        let (buffer, base) = self.base(load);
        let field = i64::from(load.field);
        if load.array == Array::Own {
            return (base, field);
        }
        let unit = load.unit;
        let offset = i64::from(unit) * i64::from(load.offset) + field;
        if let (Spelling::Moving, Some((array, address))) = (load.spelling, &self.around.moving)
            && *array == load.array
        {
            let address = address.clone();
            return (address, offset);
        }
        let reach = self.kernel.reach(&load.terms, |_| true) + 3 * MAX_OFFSET + 64;
        if load.array == Array::Tight {
            self.tighten(load);
        }
        if !matches!(load.array, Array::Published | Array::Column | Array::Tight) {
            self.extend(buffer, u64::from(unit) * u64::from(2 * reach));
        }
        let mut index = self.index(&load.terms, load.signed);
        if load.array == Array::Far {
            let near = self.parameter(if load.signed { "wrap_s" } else { "wrap_u" });
            index = self.make(Kind::Word, "add.s32", &[&index, &near]);
            self.extend("far0", u64::from(unit) * u64::from(2 * reach));
        }
        let sign = if load.signed { 's' } else { 'u' };
        let unit = unit.to_string();
        let spelled = load.offset.to_string();
        match load.spelling {
            Spelling::Immediate | Spelling::Moving => {
                let bytes =
                    self.make(Kind::Double, &format!("mul.wide.{sign}32"), &[&index, &unit]);
                (self.make(Kind::Double, "add.s64", &[&base, &bytes]), offset)
            }
            Spelling::Chain => {
                let index = self.make(Kind::Word, "add.s32", &[&index, &spelled]);
                let bytes =
                    self.make(Kind::Double, &format!("mul.wide.{sign}32"), &[&index, &unit]);
                (self.make(Kind::Double, "add.s64", &[&base, &bytes]), field)
            }
            Spelling::Fused => {
                let index = self.make(Kind::Word, "add.s32", &[&index, &spelled]);
                let opcode = format!("mad.wide.{sign}32");
                (self.make(Kind::Double, &opcode, &[&index, &unit, &base]), field)
            }
            Spelling::Wide => {
                let index = self.make(Kind::Double, &format!("cvt.{sign}64.{sign}32"), &[&index]);
                let index = self.make(Kind::Double, "add.s64", &[&index, &spelled]);
                (self.make(Kind::Double, "mad.lo.s64", &[&index, &unit, &base]), field)
            }
        }
    }

    /// A load and what becomes of its value.
    pub fn load(&mut self, load: &Load) {
        let guard = load.guard.map(|condition| match load.once {
            true => self.lasting_condition(condition),
            false => self.condition(condition),
        });
        let (address, offset) = self.address(load);
        let (kind, count) = (kind(load.access), load.access.elements().0);
        let registers: Vec<String> = (0..count)
            .map(|index| match load.destination {
                Destination::Pool => self.pooled(kind, index),
                Destination::Address
                    if kind == Kind::Double && guard.is_none() && address.starts_with("%vd") =>
                {
                    address.clone()
                }
                _ => self.temporary(kind),
            })
            .collect();
        if guard.is_some() {
            for register in &registers {
                self.line(&preset(kind, register));
            }
        }
        let input = matches!(load.array, Array::A | Array::B | Array::Far | Array::Tight);
        let generic = load.array == Array::Either || (load.generic && input);
        let qualifier = match (load.past_l1, load.read_only && input && !generic) {
            (false, true) => "global.nc.",
            (false, false) => "global.",
            (true, true) => "global.cg.nc.",
            (true, false) => "global.cg.",
        };
        let qualifier = match (generic, load.volatile) {
            (true, true) => "volatile.",
            (true, false) if load.past_l1 => "cg.",
            (true, false) => "",
            (false, true) => "volatile.global.",
            (false, false) => qualifier,
        };
        let guard = guard.map(|guard| format!("@{guard} ")).unwrap_or_default();
        let operand = if offset == 0 { address } else { format!("{address}+{offset}") };
        let list = match count {
            1 => registers[0].clone(),
            _ => format!("{{{}}}", registers.join(", ")),
        };
        self.line(&format!("{guard}ld.{qualifier}{} {list}, [{operand}]", load.access.suffix()));
        let mut last = String::new();
        for register in &registers {
            last = self.fold(kind, register);
        }
        if load.keep {
            let kept = self.lasting(Kind::Word);
            self.line(&format!("and.b32 {kept}, {last}, 15"));
            self.around.loaded = Some(kept);
        }
    }

    /// Mixes a register into the thread's result; gives its low word.
    pub fn fold(&mut self, kind: Kind, register: &str) -> String {
        let words = match kind {
            Kind::Word | Kind::Predicate => vec![register.to_owned()],
            Kind::Half => vec![self.make(Kind::Word, "cvt.u32.u16", &[register])],
            Kind::Float => vec![self.make(Kind::Word, "mov.b32", &[register])],
            Kind::Double | Kind::DoubleFloat => {
                let (low, high) = (self.temporary(Kind::Word), self.temporary(Kind::Word));
                self.line(&format!("mov.b64 {{{low}, {high}}}, {register}"));
                vec![low, high]
            }
        };
        let result = self.result();
        // Cheap to reason about bit by bit.
        for word in &words {
            self.line(&format!("shf.l.wrap.b32 {result}, {result}, {result}, 5"));
            self.line(&format!("xor.b32 {result}, {result}, {word}"));
        }
        words.into_iter().next().unwrap_or_default()
    }

    /// What the thread stores in the end.
    pub fn result(&mut self) -> String {
        self.at_entry("result", Kind::Word, |w, r| w.first(&format!("mov.u32 {r}, 1")))
    }
}

/// The registers that an access writes.
fn kind(access: Access) -> Kind {
    match access {
        Access::F32 | Access::V2F32 | Access::V4F32 => Kind::Float,
        Access::U32 | Access::S32 | Access::U8 | Access::S8 | Access::S16Wide | Access::V2U32 => {
            Kind::Word
        }
        Access::V4U8 | Access::U16 | Access::S16 => Kind::Half,
        Access::F64 | Access::V2F64 => Kind::DoubleFloat,
        Access::U64 => Kind::Double,
    }
}

fn preset(kind: Kind, register: &str) -> String {
    match kind {
        Kind::Half => format!("mov.u16 {register}, 7"),
        Kind::Float => format!("mov.f32 {register}, 0f40E00000"),
        Kind::DoubleFloat => format!("mov.f64 {register}, 0d401C000000000000"),
        Kind::Double => format!("mov.u64 {register}, 7"),
        Kind::Word | Kind::Predicate => format!("mov.u32 {register}, 7"),
    }
}

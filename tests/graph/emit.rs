//! A kernel as PTX, and its launch.

use std::fmt::Write;

use serde_json::json;

use super::kernel::{
    Array, BlockId, By, CUT, Condition, End, Item, Kernel, Leave, Limit, Load, ROW, ROWS, SLOT,
    Start, Sync, Test, Update, Value,
};
use crate::random::Case;

/// Instructions of a launch after which it is given up.
const LIMIT: u64 = 100_000;

/// Additional marks in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    None,
    /// A `pmevent` at the beginning of each block that does anything: assemblers neither move nor join
    /// them, and see no memory in them, for which they would make other loops.
    Blocks,
}

/// The text and the launch.
pub fn emit(kernel: &Kernel) -> Case {
    Case { ptx: text(kernel, Marks::None), launch: launch(kernel) }
}

/// The text.
pub fn text(kernel: &Kernel, marks: Marks) -> String {
    let mut writer = Writer { kernel, text: String::new(), words: 0, doubles: 0, preds: 0 };
    let order = kernel.reachable();
    for (index, &block) in order.iter().enumerate() {
        writer.block(block, order.get(index + 1).copied(), marks);
    }
    let body = writer.text;
    let (words, doubles, preds) = (writer.words, writer.doubles, writer.preds);
    let mut text = format!(
        ".version 7.8\n.target sm_75\n.address_size 64\n\n\
         .visible .entry graph_{}(.param .u64 a, .param .u64 own, .param .u64 out, .param .u32 n)\n{{\n",
        kernel.seed
    );
    for (ty, name, count) in [
        ("pred", "p", preds),
        ("b32", "t", words),
        ("b64", "d", doubles),
        ("b32", "c", kernel.carried.len()),
    ] {
        if count > 0 {
            let _ = writeln!(text, "\t.reg .{ty} %{name}<{count}>;");
        }
    }
    text += "\t.reg .b32 %x, %cta, %size, %thread, %n, %result, %loaded, %fuel;\n\
             \t.reg .b64 %a, %own, %out, %a_generic, %own_generic, %out_generic;\n\
             \t.reg .b64 %a_start, %own_start, %out_start;\n";
    // (Each is written once: at the entries of a cycle nothing is known of registers that change.)
    text += "\tmov.u32 %x, %tid.x;\n\
             \tmov.u32 %cta, %ctaid.x;\n\
             \tmov.u32 %size, %ntid.x;\n\
             \tmad.lo.s32 %thread, %cta, %size, %x;\n\
             \tld.param.u32 %n, [n];\n";
    for (name, scale) in [("a", 4), ("own", 4 * SLOT), ("out", 4)] {
        let _ = write!(
            text,
            "\tld.param.u64 %{name}_generic, [{name}];\n\
             \tcvta.to.global.u64 %{name}_start, %{name}_generic;\n\
             \tmad.wide.u32 %{name}, %thread, {scale}, %{name}_start;\n"
        );
    }
    let _ = writeln!(text, "\tmov.u32 %fuel, {};", kernel.fuel);
    text += "\tmov.u32 %loaded, 0;\n\tmov.u32 %result, 1;\n";
    for (register, start) in kernel.carried.iter().enumerate() {
        let _ = match start {
            Start::Number(number) => writeln!(text, "\tmov.u32 %c{register}, {number};"),
            Start::Parameter => writeln!(text, "\tmov.u32 %c{register}, %n;"),
            Start::Thread => writeln!(text, "\tmov.u32 %c{register}, %x;"),
            Start::Loaded => writeln!(text, "\tld.global.nc.u32 %c{register}, [%a];"),
        };
    }
    text + &body + "}\n"
}

/// The launch file. All loads stay in the buffers, whatever the rows.
fn launch(kernel: &Kernel) -> String {
    let threads = kernel.threads * kernel.grid;
    let words = ROW * ROWS + threads + 64;
    let file = json!({
        "kernel": format!("graph_{}", kernel.seed),
        "grid": [kernel.grid, 1, 1],
        "block": [kernel.threads, 1, 1],
        "limit": LIMIT,
        "buffers": {
            "a": {"type": "u32", "len": words, "fill": "random", "seed": kernel.seed},
            "own": {"type": "u32", "len": threads * SLOT, "fill": "index"},
            "out": {"type": "u32", "len": threads, "fill": 0},
        },
        "args": [
            {"buffer": "a"}, {"buffer": "own"}, {"buffer": "out"},
            {"type": "u32", "value": kernel.n},
        ],
    });
    format!("{file:#}\n")
}

struct Writer<'k> {
    kernel: &'k Kernel,
    text: String,
    words: usize,
    doubles: usize,
    preds: usize,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "\t{line};");
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("%t{}", self.words - 1)
    }

    fn double(&mut self) -> String {
        self.doubles += 1;
        format!("%d{}", self.doubles - 1)
    }

    fn pred(&mut self) -> String {
        self.preds += 1;
        format!("%p{}", self.preds - 1)
    }

    fn block(&mut self, block: BlockId, next: Option<BlockId>, marks: Marks) {
        let content = &self.kernel.blocks[block];
        let _ = writeln!(self.text, "$B{block}:");
        // (Blocks that only jump stay unchanged, so that assemblers may join them with others.)
        if marks == Marks::Blocks && !is_empty(self.kernel, block) {
            self.line(&format!("pmevent {}", block % 16));
        }
        for item in &content.items {
            self.item(item);
        }
        match &content.end {
            End::Jump(to) if Some(*to) == next => {}
            End::Jump(to) => self.line(&format!("bra $B{to}")),
            End::Branch { when, yes, no } => {
                let guard = self.condition(*when);
                match &self.kernel.blocks[*yes] {
                    // A thread that only ends does so under a guard.
                    leaving if leaving.items.is_empty() && plain(&leaving.end).is_some() => {
                        let opcode = plain(&leaving.end).unwrap_or_default();
                        self.line(&format!("@{guard} {opcode}"));
                    }
                    _ => self.line(&format!("@{guard} bra $B{yes}")),
                }
                if Some(*no) != next {
                    self.line(&format!("bra $B{no}"));
                }
            }
            End::Index { by, to, limit } => {
                let index = self.index(*by, to.len());
                if let Some((limit, spared)) = limit {
                    let holds = self.limit(*limit);
                    self.line(&format!("selp.b32 {index}, {index}, {spared}, {holds}"));
                }
                let targets: Vec<String> = to.iter().map(|to| format!("$B{to}")).collect();
                let _ = writeln!(self.text, "$T{block}: .branchtargets {};", targets.join(", "));
                self.line(&format!("brx.idx {index}, $T{block}"));
            }
            End::Leave(leave) => self.leave(*leave),
        }
    }

    fn leave(&mut self, leave: Leave) {
        let store = matches!(
            leave,
            Leave::Last | Leave::Exit { store: true } | Leave::Return { store: true }
        );
        if store {
            self.line("st.global.u32 [%out], %result");
        }
        self.line(match leave {
            Leave::Last | Leave::Return { .. } => "ret",
            Leave::Exit { .. } => "exit",
            Leave::Trap => "trap",
        });
    }

    /// A limit as a predicate that holds as long as one may go on.
    fn limit(&mut self, limit: Limit) -> String {
        let holds = self.pred();
        self.line(&match limit {
            Limit::Counter(counter) => format!("setp.lt.u32 {holds}, %c{counter}, %n"),
            Limit::Fuel => format!("setp.gt.s32 {holds}, %fuel, 0"),
        });
        holds
    }

    /// A condition as a guard.
    fn condition(&mut self, condition: Condition) -> String {
        let Condition { test, negated, limit } = condition;
        let Some((limit, side)) = limit else {
            let holds = self.test(test);
            return if negated { format!("!{holds}") } else { holds };
        };
        let go_on = self.limit(limit);
        if test == Test::Always && negated != side {
            return if side { go_on } else { format!("!{go_on}") };
        }
        let holds = self.test(test);
        let (guard, not) = (self.pred(), self.pred());
        if negated {
            self.line(&format!("not.pred {holds}, {holds}"));
        }
        if side {
            self.line(&format!("and.pred {guard}, {holds}, {go_on}"));
        } else {
            self.line(&format!("not.pred {not}, {go_on}"));
            self.line(&format!("or.pred {guard}, {holds}, {not}"));
        }
        guard
    }

    /// A test as a predicate of its own.
    fn test(&mut self, test: Test) -> String {
        let holds = self.pred();
        let simple = match test {
            Test::Always => format!("setp.ne.u32 {holds}, %size, 0"),
            Test::Never => format!("setp.gt.u32 {holds}, %n, 1000"),
            Test::Parameter(bound) => format!("setp.gt.u32 {holds}, %n, {bound}"),
            Test::Below(bound) => format!("setp.lt.u32 {holds}, %x, {bound}"),
            Test::Spent => format!("setp.lt.s32 {holds}, %fuel, 0"),
            Test::Sum(_, bits) => {
                let sum = self.mixture(test);
                self.line(&format!("and.b32 {sum}, {sum}, 3"));
                format!("setp.eq.u32 {holds}, {sum}, {bits}")
            }
            Test::Grid
            | Test::Bits(..)
            | Test::Thread(_)
            | Test::Mixed(..)
            | Test::Loaded(_)
            | Test::Result(_) => {
                let bits = self.mixture(test);
                format!("setp.ne.u32 {holds}, {bits}, 0")
            }
        };
        self.line(&simple);
        holds
    }

    /// The value that a test looks at, in a register of its own.
    fn mixture(&mut self, test: Test) -> String {
        let word = self.word();
        match test {
            Test::Bits(register, mask) => {
                self.line(&format!("and.b32 {word}, %c{register}, {mask}"));
            }
            // Plus nothing, which no analysis knows: behind a test that some lane of every warp is seen to
            // fail nothing would be rewritten.
            Test::Thread(mask) => {
                self.line(&format!("shr.u32 {word}, %n, 31"));
                self.line(&format!("add.u32 {word}, {word}, %x"));
                self.line(&format!("and.b32 {word}, {word}, {mask}"));
            }
            Test::Mixed(register, mask) => {
                self.line(&format!("xor.b32 {word}, %x, %c{register}"));
                self.line(&format!("and.b32 {word}, {word}, {mask}"));
            }
            Test::Sum(register, _) => self.line(&format!("add.s32 {word}, %x, %c{register}")),
            Test::Loaded(bit) => self.line(&format!("and.b32 {word}, %loaded, {}", 1 << bit)),
            Test::Result(bit) => self.line(&format!("and.b32 {word}, %result, {}", 1 << bit)),
            Test::Grid => self.line(&format!("and.b32 {word}, %cta, 1")),
            Test::Parameter(bound) => self.line(&format!("add.s32 {word}, %n, {bound}")),
            Test::Below(bound) => self.line(&format!("add.s32 {word}, %x, {bound}")),
            Test::Always | Test::Never | Test::Spent => self.line(&format!("mov.u32 {word}, %cta")),
        }
        word
    }

    fn index(&mut self, by: Test, targets: usize) -> String {
        let word = match by {
            // All bits of the mixture.
            Test::Bits(register, _) => self.mixture(Test::Bits(register, u32::MAX)),
            Test::Mixed(register, _) => self.mixture(Test::Mixed(register, u32::MAX)),
            Test::Thread(_) => self.mixture(Test::Thread(u32::MAX)),
            other => self.mixture(other),
        };
        self.line(&format!("and.b32 {word}, {word}, {}", targets.next_power_of_two() - 1));
        word
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Step(register, update) => self.step(*register, *update),
            Item::Load(load) => self.load(load),
            Item::Store { word, value } => {
                let value = match value {
                    Value::Result => "%result".to_owned(),
                    Value::Number(number) => number.to_string(),
                    Value::Carried(register) => format!("%c{register}"),
                };
                self.line(&format!("st.global.u32 [%own+{}], {value}", 4 * word));
            }
            Item::Spend => self.line("sub.s32 %fuel, %fuel, 1"),
            Item::Sync(sync) => self.sync(*sync),
        }
    }

    fn step(&mut self, register: usize, update: Update) {
        let r = format!("%c{register}");
        self.line(&match update {
            Update::Add(number) => format!("add.s32 {r}, {r}, {number}"),
            Update::Multiply => format!("mad.lo.s32 {r}, {r}, 3, 1"),
            Update::Mix(other) => format!("xor.b32 {r}, {r}, %c{other}"),
            Update::Copy(other) => format!("mov.u32 {r}, %c{other}"),
            Update::AddThread => format!("add.s32 {r}, {r}, %x"),
            Update::AddLoaded => format!("add.s32 {r}, {r}, %loaded"),
            Update::Set(number) => format!("mov.u32 {r}, {number}"),
        });
    }

    fn load(&mut self, load: &Load) {
        let base = match (load.array, load.row) {
            (Array::Own, _) => "%own".to_owned(),
            (Array::Input, None) => "%a".to_owned(),
            (Array::Input, Some((register, cut))) => {
                let (offset, address) = (self.double(), self.double());
                let mut row = format!("%c{register}");
                if cut {
                    let word = self.word();
                    self.line(&format!("and.b32 {word}, {row}, {CUT}"));
                    row = word;
                }
                self.line(&format!("mul.wide.u32 {offset}, {row}, {}", 4 * ROW));
                self.line(&format!("add.s64 {address}, %a, {offset}"));
                address
            }
        };
        let path = if load.read_only { ".nc" } else { "" };
        let values: Vec<String> = load.words.iter().map(|_| self.word()).collect();
        for (value, word) in values.iter().zip(&load.words) {
            self.line(&format!("ld.global{path}.u32 {value}, [{base}+{}]", 4 * word));
        }
        for value in &values {
            self.fold(value);
        }
        if let Some(last) = values.last() {
            self.line(&format!("and.b32 %loaded, {last}, 15"));
        }
    }

    /// Mixes a register into the result; cheap to reason about bit by bit.
    fn fold(&mut self, value: &str) {
        self.line("shf.l.wrap.b32 %result, %result, %result, 5");
        self.line(&format!("xor.b32 %result, %result, {value}"));
    }

    fn sync(&mut self, sync: Sync) {
        match sync {
            Sync::Warp => self.line("bar.warp.sync -1"),
            Sync::Group(bit) => {
                let (bits, holds) = (self.word(), self.pred());
                let low: u32 = (0..32).filter(|lane| lane & bit == 0).map(|lane| 1 << lane).sum();
                self.line(&format!("and.b32 {bits}, %x, {bit}"));
                self.line(&format!("setp.eq.u32 {holds}, {bits}, 0"));
                self.line(&format!("selp.b32 {bits}, {low:#x}, {:#x}, {holds}", !low));
                self.line(&format!("bar.warp.sync {bits}"));
            }
            Sync::Pair(first, second, by) => {
                let (lane, one, holds) = (self.word(), self.pred(), self.pred());
                self.line(&format!("and.b32 {lane}, %x, 31"));
                self.line(&format!("setp.eq.u32 {one}, {lane}, {first}"));
                self.line(&format!("setp.eq.or.u32 {holds}, {lane}, {second}, {one}"));
                let mask: u32 = 1 << first | 1 << second;
                let word = self.word();
                self.line(&match by {
                    By::Barrier => format!("@{holds} bar.warp.sync {mask:#x}"),
                    By::Vote => format!("@{holds} vote.sync.ballot.b32 {word}, {one}, {mask:#x}"),
                    By::Shuffle => {
                        format!("@{holds} shfl.sync.idx.b32 {word}, %x, {first}, 31, {mask:#x}")
                    }
                });
            }
            Sync::Vote | Sync::CountedVote => {
                let (word, holds) = (self.word(), self.test(Test::Thread(5)));
                self.line(&format!("vote.sync.ballot.b32 {word}, {holds}, -1"));
                if sync == Sync::CountedVote {
                    self.fold(&word);
                }
            }
            Sync::Shuffle => {
                let word = self.word();
                self.line(&format!("shfl.sync.idx.b32 {word}, %x, 0, 31, -1"));
            }
            Sync::Block => self.line("barrier.sync 0"),
        }
    }
}

/// The instruction by which a thread ends that does nothing else.
fn plain(end: &End) -> Option<&'static str> {
    match end {
        End::Leave(Leave::Exit { store: false }) => Some("exit"),
        End::Leave(Leave::Return { store: false }) => Some("ret"),
        End::Leave(Leave::Trap) => Some("trap"),
        _ => None,
    }
}

/// Whether a block only jumps.
pub fn is_empty(kernel: &Kernel, block: BlockId) -> bool {
    let block = &kernel.blocks[block];
    block.items.is_empty() && matches!(block.end, End::Jump(_))
}

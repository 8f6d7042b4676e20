//! A tree as PTX: control flow, values, and memory that is written.

use super::kernel::{
    Array, Change, Condition, Definition, Fence, Field, Load, Loop, MAX_BEYOND, MAX_TRIPS, Moving,
    OUTPUT, Own, SLOT, Stmt, Sum, Test, Trips, Var,
};
use super::writer::{Kind, Round, Surroundings, Writer};

/// The guard that holds where another one does not.
fn negated(guard: &str) -> String {
    guard.strip_prefix('!').map_or(format!("!{guard}"), str::to_owned)
}

impl Writer<'_> {
    /// The whole kernel: its statements, then the result is stored.
    pub fn kernel(&mut self) {
        let kernel = self.kernel;
        self.list(&kernel.body);
        self.end();
    }

    /// Stores the thread's result and ends it.
    fn end(&mut self) {
        let (result, output) = (self.result(), self.own("out", "output", OUTPUT));
        self.line(&format!("st.global.u32 [{output}], {result}"));
        self.line("ret");
    }

    fn list(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    /// Statements whose values are not to be seen behind them.
    fn inner(&mut self, around: Surroundings, statements: &[Stmt]) {
        let outside = std::mem::replace(&mut self.around, around);
        self.list(statements);
        self.around = outside;
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Load(load) => self.load(load),
            Stmt::Own(own) => self.change(own),
            Stmt::Publish(barrier) => self.publish(*barrier),
            Stmt::Fence(fence) => self.line(match fence {
                Fence::Membar => "membar.gl",
                Fence::AcquireRelease => "fence.acq_rel.gpu",
                Fence::Block => "bar.sync 0",
                Fence::Warp => "bar.warp.sync 0xffffffff",
            }),
            Stmt::If { condition, then, otherwise } => self.branch(*condition, then, otherwise),
            Stmt::Loop(looping) => self.looping(looping),
            Stmt::Break(condition) => {
                if let Some(end) = self.around.end.clone() {
                    let predicate = self.condition(*condition);
                    self.line(&format!("@{predicate} bra {end}"));
                }
            }
            Stmt::Continue(condition) => {
                if let Some(round) = self.around.round.clone() {
                    let predicate = self.condition(*condition);
                    let stay = self.label();
                    self.line(&format!("@{} bra {stay}", negated(&predicate)));
                    self.go_round(&round);
                    if round.bottom {
                        self.line(&format!("bra {}", round.done));
                    }
                    self.place(&stay);
                }
            }
            Stmt::Put(load) => self.put(load),
            Stmt::Exit(condition) => {
                let predicate = self.condition(*condition);
                let stay = self.label();
                self.line(&format!("@{} bra {stay}", negated(&predicate)));
                self.end();
                self.place(&stay);
            }
            Stmt::Scope(body) => {
                let around = self.around.clone();
                self.scope(|writer| writer.inner(around, body));
            }
            Stmt::Switch { on, cases } => self.switch(*on, cases),
            Stmt::Define(definition) => self.define(definition),
            Stmt::Advance(by) => {
                let cursor = self.value(Var::Cursor);
                self.line(&format!("add.s32 {cursor}, {cursor}, {by}"));
            }
            Stmt::Collective(collective) => self.collective(*collective),
            Stmt::Exchange(further) => self.exchange(*further),
            Stmt::Call => self.bump(),
            Stmt::CallStencil => self.stencil(),
            Stmt::Fields(fields) => self.fields(fields),
            Stmt::Sum(sum) => self.sum(sum),
            Stmt::Output(place) => {
                let (result, output) = (self.result(), self.own("out", "output", OUTPUT));
                self.line(&format!("st.global.u32 [{output}+{}], {result}", 4 * (place % 8)));
            }
        }
    }

    fn branch(&mut self, condition: Condition, then: &[Stmt], otherwise: &[Stmt]) {
        let predicate = self.condition(condition);
        let (skip, end) = (self.label(), self.label());
        self.line(&format!("@{} bra {skip}", negated(&predicate)));
        self.inner(self.around.clone(), then);
        if !otherwise.is_empty() {
            self.line(&format!("bra.uni {end}"));
        }
        self.place(&skip);
        self.inner(self.around.clone(), otherwise);
        self.place(&end);
    }

    fn looping(&mut self, looping: &Loop) {
        let counter = self.lasting(Kind::Word);
        let step = looping.step;
        let end = match looping.trips {
            Trips::Constant(trips) => (trips * step).to_string(),
            Trips::N => {
                let n = self.value(Var::N);
                self.make(Kind::Word, "mul.lo.s32", &[&n, &step.to_string()])
            }
            Trips::Beyond(more) => {
                let n = self.value(Var::N);
                let more = more.min(MAX_BEYOND).to_string();
                let trips = self.make(Kind::Word, "add.s32", &[&n, &more]);
                self.make(Kind::Word, "mul.lo.s32", &[&trips, &step.to_string()])
            }
            Trips::Of(var) | Trips::Eight(var) => {
                let value = self.value(var);
                let bits = if matches!(looping.trips, Trips::Of(_)) { "3" } else { "7" };
                let trips = self.make(Kind::Word, "and.b32", &[&value, bits]);
                self.make(Kind::Word, "mul.lo.s32", &[&trips, &step.to_string()])
            }
        };
        let carried = self.lasting(Kind::Word);
        let start = match looping.carried_from_tid {
            true => self.value(Var::TidX),
            false => "0".to_owned(),
        };
        self.line(&format!("and.b32 {carried}, {start}, 63"));
        let moving = looping
            .moving
            .as_ref()
            .map(|moving| (moving.array, self.moving_address(moving), moving.step));
        let (head, done) = (self.label(), self.label());
        self.line(&format!("mov.u32 {counter}, 0"));
        if let Some(condition) = looping.entered {
            let predicate = self.condition(condition);
            self.line(&format!("@{predicate} bra {head}"));
            self.line(&format!("add.s32 {carried}, {carried}, 1"));
            if let Some((_, address, _)) = &moving {
                self.line(&format!("add.s64 {address}, {address}, 16"));
            }
        }
        self.place(&head);
        if !looping.bottom {
            let stop = self.make(Kind::Predicate, "setp.ge.s32", &[&counter, &end]);
            self.line(&format!("@{stop} bra {done}"));
        }
        let mut around = self.around.clone();
        around.counters.push(counter.clone());
        around.carried = Some(carried.clone());
        around.moving = moving.as_ref().map(|(array, address, _)| (*array, address.clone()));
        around.end = Some(done.clone());
        let round = Round {
            counter: counter.clone(),
            step,
            end,
            carried,
            moving: moving.map(|(_, address, step)| (address, i64::from(step) * 16)),
            bottom: looping.bottom,
            head,
            done,
        };
        around.round = Some(round.clone());
        self.inner(around, &looping.body);
        self.go_round(&round);
        self.place(&round.done);
        self.around.after = Some(counter);
    }

    /// The end of an iteration.
    fn go_round(&mut self, round: &Round) {
        let Round { counter, step, end, carried, head, .. } = round;
        self.line(&format!("mad.lo.s32 {carried}, {carried}, 5, 1"));
        self.line(&format!("and.b32 {carried}, {carried}, 63"));
        if let Some((address, bytes)) = &round.moving {
            self.line(&format!("add.s64 {address}, {address}, {bytes}"));
        }
        self.line(&format!("add.s32 {counter}, {counter}, {step}"));
        match round.bottom {
            true => {
                let again = self.make(Kind::Predicate, "setp.lt.s32", &[counter, end]);
                self.line(&format!("@{again} bra {head}"));
            }
            false => self.line(&format!("bra {head}")),
        }
    }

    /// A store where a load would read.
    fn put(&mut self, load: &Load) {
        let guard = load.guard.map(|condition| self.condition(condition));
        let guard = guard.map(|guard| format!("@{guard} ")).unwrap_or_default();
        let (address, offset) = self.address(load);
        let result = self.result();
        self.line(&format!("{guard}st.global.u32 [{address}+{offset}], {result}"));
    }

    /// A loop that sums up in memory.
    fn sum(&mut self, sum: &Sum) {
        let column = self.column();
        let (at, counter) = (self.lasting(Kind::Double), self.lasting(Kind::Word));
        let total = self.lasting(Kind::Word);
        let n = match sum.trips {
            Trips::Constant(trips) => trips.to_string(),
            _ => self.value(Var::N),
        };
        let fill = self.condition(Condition { var: Var::N, test: Test::Less(2), negated: false });
        self.line(&format!("add.s64 {at}, {column}, {}", sum.from));
        self.line(&format!("mov.u32 {counter}, 0"));
        self.line(&format!("mov.u32 {total}, 5"));
        let head = self.label();
        self.place(&head);
        let loaded = self.temporary(Kind::Word);
        let ty = if sum.bytes { "u8" } else { "u32" };
        self.line(&format!("ld.global.{ty} {loaded}, [{at}]"));
        if sum.read {
            self.line(&format!("ld.global.u32 {total}, [{column}]"));
        }
        self.line(&format!("mad.lo.u32 {total}, {total}, 3, {loaded}"));
        let guard = if sum.guarded { format!("@{fill} ") } else { String::new() };
        self.line(&format!("{guard}st.global.u32 [{column}], {total}"));
        if let Some(second) = sum.second {
            let other = self.temporary(Kind::Word);
            self.line(&format!("ld.global.u32 {other}, [{column}+{}]", 4 * second));
            self.line(&format!("add.u32 {other}, {other}, {total}"));
            self.line(&format!("st.global.u32 [{column}+{}], {other}", 4 * second));
        }
        if sum.fenced {
            self.line("membar.gl");
        }
        self.line(&format!("add.s64 {at}, {at}, {}", sum.step));
        self.line(&format!("add.s32 {counter}, {counter}, 1"));
        let again = self.make(Kind::Predicate, "setp.lt.s32", &[&counter, &n]);
        self.line(&format!("@{again} bra {head}"));
        self.fold(Kind::Word, &total);
    }

    /// Stores to and loads from the thread's own struct.
    fn fields(&mut self, fields: &[Field]) {
        let (words, bits, generic) = self.kernel.structs();
        let bytes = words * bits / 8;
        let threads = self.kernel.threads() * self.kernel.blocks();
        self.extend("fields", u64::from(threads * bytes));
        let (pointer, thread) = (self.pointer("fields", generic), self.thread_number());
        let start = self.at_entry("struct", Kind::Double, |w, r| {
            w.first(&format!("mad.wide.u32 {r}, {thread}, {bytes}, {pointer}"));
        });
        let space = if generic { "" } else { ".global" };
        let kind = if bits == 64 { Kind::Double } else { Kind::Word };
        for field in fields {
            let guard = field.guard.map(|condition| format!("@{} ", self.condition(condition)));
            let guard = guard.unwrap_or_default();
            let mut registers = Vec::new();
            for word in field.word..field.word + field.count {
                let register = self.temporary(kind);
                let result = self.result();
                let mixed = match (field.stored, bits) {
                    (true, 32) => format!("xor.b32 {register}, {result}, {}", 257 * word + 1),
                    (true, _) => {
                        let high = self.make(Kind::Word, "add.s32", &[&result, &word.to_string()]);
                        format!("mov.b64 {register}, {{{result}, {high}}}")
                    }
                    (false, _) => format!("mov.b{bits} {register}, 7"),
                };
                self.line(&mixed);
                registers.push(register);
            }
            let (vector, list) = match &registers[..] {
                [single] => ("", single.clone()),
                several => (".v2", format!("{{{}}}", several.join(", "))),
            };
            let at = format!("[{start}+{}]", field.word * bits / 8);
            self.line(&match field.stored {
                true => format!("{guard}st{space}{vector}.b{bits} {at}, {list}"),
                false => format!("{guard}ld{space}{vector}.b{bits} {list}, {at}"),
            });
            for register in registers.iter().filter(|_| !field.stored) {
                self.fold(kind, register);
            }
        }
    }

    /// An address that a loop moves by units of 16 bytes.
    fn moving_address(&mut self, moving: &Moving) -> String {
        let (array, step) = (moving.array, moving.step);
        let load = super::kernel::Load {
            array,
            terms: moving.terms.clone(),
            offset: 0,
            unit: 16,
            field: 0,
            access: super::kernel::Access::U32,
            spelling: super::kernel::Spelling::Immediate,
            signed: true,
            read_only: false,
            generic: false,
            volatile: false,
            past_l1: false,
            once: false,
            guard: None,
            destination: super::kernel::Destination::Fresh,
            keep: false,
        };
        let (address, _) = self.address(&load);
        let moved = u64::from((MAX_TRIPS + MAX_BEYOND + 1) * step.unsigned_abs()) * 16 + 16;
        // A thread's own column has room enough.
        if array != Array::Column {
            let buffer = if array == Array::B { "b" } else { "a" };
            let before = self.extents.get(buffer).copied().unwrap_or_default();
            self.extend(buffer, before + moved);
        }
        let moving = self.lasting(Kind::Double);
        self.line(&format!("mov.u64 {moving}, {address}"));
        moving
    }

    fn switch(&mut self, on: Var, cases: &[Vec<Stmt>]) {
        let value = self.value(on);
        let index = self.make(Kind::Word, "rem.u32", &[&value, &cases.len().max(1).to_string()]);
        let labels: Vec<String> = cases.iter().map(|_| self.label()).collect();
        let (table, end) = (self.label(), self.label());
        self.body += &format!("{table}: .branchtargets {};\n", labels.join(", "));
        self.line(&format!("brx.idx {index}, {table}"));
        for (label, case) in labels.iter().zip(cases) {
            self.place(label);
            self.inner(self.around.clone(), case);
            self.line(&format!("bra {end}"));
        }
        self.place(&end);
    }

    fn change(&mut self, own: &Own) {
        let guard = own.guard.map(|condition| self.condition(condition));
        let guard = guard.map(|guard| format!("@{guard} ")).unwrap_or_default();
        let (slot, result) = (self.own("own", "slot", SLOT), self.result());
        let at = 4 * (own.word % 4);
        match own.how {
            Change::Store => self.line(&format!("{guard}st.global.u32 [{slot}+{at}], {result}")),
            Change::StoreByte(byte) => {
                let at = at + byte % 4;
                self.line(&format!("{guard}st.global.u8 [{slot}+{at}], {result}"));
            }
            Change::StoreVector => {
                let list = [result.as_str(); 4].join(", ");
                self.line(&format!("{guard}st.global.v4.u32 [{slot}], {{{list}}}"));
            }
            Change::Atomic => {
                let old = self.temporary(Kind::Word);
                self.line(&format!("mov.u32 {old}, 3"));
                self.line(&format!("{guard}atom.global.add.u32 {old}, [{slot}+{at}], 9"));
                self.fold(Kind::Word, &old);
            }
            Change::Reduction => {
                self.line(&format!("{guard}red.global.add.u32 [{slot}+{at}], 9"));
            }
        }
    }

    /// A generic pointer that lies in local memory unless the parameter `which` is set.
    pub fn either(&mut self) -> String {
        let input = self.pointer("a", true);
        self.parameters.insert("which");
        let thread = self.thread_number();
        // Room for each thread's index, an offset and a bias on each side.
        let words = 2 * (self.kernel.threads() + 3 * super::kernel::MAX_OFFSET + 16);
        self.at_entry("either", Kind::Double, |w, r| {
            let (i, p, value) =
                (w.lasting(Kind::Word), w.lasting(Kind::Predicate), w.lasting(Kind::Word));
            let (place, wide) = (w.lasting(Kind::Double), w.lasting(Kind::Double));
            w.variables += &format!("\t.local .align 16 .b8 depot[{}];\n", 4 * words);
            for text in [format!("mov.u64 {place}, depot"), format!("mov.u32 {i}, 0")] {
                w.first(&text);
            }
            w.prologue += "FILL:\n";
            for text in [
                format!("mad.wide.u32 {wide}, {i}, 4, {place}"),
                format!("mad.lo.s32 {value}, {thread}, 7919, {i}"),
                format!("st.local.u32 [{wide}], {value}"),
                format!("add.s32 {i}, {i}, 1"),
                format!("setp.lt.u32 {p}, {i}, {words}"),
                format!("@{p} bra FILL"),
                format!("cvta.local.u64 {place}, {place}"),
                format!("add.s64 {place}, {place}, {}", 2 * words),
                format!("ld.param.u32 {i}, [which]"),
                format!("setp.ne.s32 {p}, {i}, 0"),
                format!("selp.b64 {r}, {input}, {place}, {p}"),
            ] {
                w.first(&text);
            }
        })
    }

    fn define(&mut self, definition: &Definition) {
        let defined = match *definition {
            Definition::Copy(var) => {
                let value = self.value(var);
                let defined = self.lasting(Kind::Word);
                self.line(&format!("min.u32 {defined}, {value}, 64"));
                defined
            }
            Definition::Lane => self.value(Var::Lane),
            Definition::Merge(condition, one, other) => {
                let defined = self.lasting(Kind::Word);
                let predicate = self.condition(condition);
                let (skip, end) = (self.label(), self.label());
                self.line(&format!("@{predicate} bra {skip}"));
                self.line(&format!("mov.u32 {defined}, {one}"));
                self.line(&format!("bra {end}"));
                self.place(&skip);
                self.line(&format!("mov.u32 {defined}, {other}"));
                self.place(&end);
                defined
            }
            Definition::Choose(var, low, high) => {
                let value = self.value(var);
                let defined = self.lasting(Kind::Word);
                let end = self.label();
                for (bound, chosen) in [(low, 5), (high, 9)] {
                    let next = self.label();
                    let below =
                        self.make(Kind::Predicate, "setp.ge.u32", &[&value, &bound.to_string()]);
                    self.line(&format!("@{below} bra {next}"));
                    self.line(&format!("mov.u32 {defined}, {chosen}"));
                    self.line(&format!("bra {end}"));
                    self.place(&next);
                }
                self.line(&format!("mov.u32 {defined}, 30"));
                self.place(&end);
                defined
            }
            Definition::Select(condition, one, other) => {
                let predicate = self.condition(condition);
                let (one, other, predicate) = match predicate.strip_prefix('!') {
                    Some(predicate) => (other, one, predicate),
                    None => (one, other, predicate.as_str()),
                };
                let defined = self.lasting(Kind::Word);
                self.line(&format!("selp.b32 {defined}, {one}, {other}, {predicate}"));
                defined
            }
            Definition::Bumped(condition) => {
                let (tid, predicate) = (self.value(Var::TidX), self.condition(condition));
                let defined = self.lasting(Kind::Word);
                self.line(&format!("mov.u32 {defined}, {tid}"));
                self.line(&format!("@{predicate} add.s32 {defined}, {defined}, 1"));
                defined
            }
            Definition::Vote(condition) => {
                let predicate = self.condition(condition);
                let defined = self.lasting(Kind::Word);
                let mask = self.active_mask();
                self.line(&format!("vote.sync.ballot.b32 {defined}, {predicate}, {mask}"));
                self.line(&format!("popc.b32 {defined}, {defined}"));
                defined
            }
            Definition::Shuffle(var, bits) => {
                let value = self.value(var);
                let defined = self.lasting(Kind::Word);
                let (mask, value) =
                    (self.active_mask(), self.make(Kind::Word, "mov.u32", &[&value]));
                let (from, _) = self.partner(&mask, bits);
                self.line(&format!("shfl.sync.idx.b32 {defined}, {value}, {from}, 31, {mask}"));
                self.line(&format!("and.b32 {defined}, {defined}, 63"));
                defined
            }
            Definition::Extract(var) => {
                let value = self.value(var);
                let defined = self.lasting(Kind::Word);
                self.line(&format!("bfe.u32 {defined}, {value}, 1, 4"));
                defined
            }
            Definition::Square(var) => {
                let value = self.value(var);
                let defined = self.lasting(Kind::Word);
                self.line(&format!("mul.lo.s32 {defined}, {value}, {value}"));
                self.line(&format!("and.b32 {defined}, {defined}, 63"));
                defined
            }
            Definition::Gather(var) => {
                let value = self.value(var);
                let base = self.pointer("b", false);
                self.extend("b", 4 * u64::from(self.kernel.most(var) + 1));
                let place = self.make(Kind::Double, "mul.wide.u32", &[&value, "4"]);
                let place = self.make(Kind::Double, "add.s64", &[&base, &place]);
                let defined = self.lasting(Kind::Word);
                self.line(&format!("ld.global.u32 {defined}, [{place}]"));
                self.line(&format!("and.b32 {defined}, {defined}, 31"));
                defined
            }
            Definition::Call(var) => {
                let value = self.value(var);
                let defined = self.lasting(Kind::Word);
                self.call("triple", &[("b32", &value)], &defined);
                defined
            }
        };
        self.around.defined = Some(defined);
    }
}

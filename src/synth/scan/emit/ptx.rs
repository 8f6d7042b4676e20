//! An operator as PTX: a kernel of one block that scans a list, and one that reduces it.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::Code;
use super::networks::{LANES, Networks};
use crate::planted::Bug;
use crate::synth::emit::index::Lines;
use crate::synth::network::emit::{Shuffle, Step, machine, steps};
use crate::synth::network::{Network, Solution};
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{GIVEN, INPUT, Op, RIGHT, Shared, Sort, Term};

/// A register for each accumulator; a predicate for one that is a boolean.
type State = Vec<String>;

/// What a kernel does with a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Scan,
    Reduce,
}

struct Writer<'c> {
    code: &'c Code<'c>,
    networks: &'c Networks,
    lines: Lines,
    givens: Vec<String>,
    tid: String,
    lane: String,
    warp: String,
    warps: String,
    threads: String,
}

/// Both kernels: `NAME_scan_kernel` writes the results for the elements up to each one, `NAME_reduce_kernel` those for the
/// whole list. Their params are the addresses of the inputs, what is given, the addresses of the results, and
/// how many elements there are, below 2^30; they run in one one-dimensional block of any size. `comment` stands in front.
///
/// # Errors
/// A network has no code.
pub fn ptx(code: &Code, networks: &Networks, comment: &str) -> Result<String, String> {
    let mut text = String::new();
    comment.lines().for_each(|line| _ = writeln!(text, "{}", format!("// {line}").trim_end()));
    text.push_str(".version 7.0\n.target sm_70\n.address_size 64\n");
    for (task, name) in [(Task::Scan, "scan"), (Task::Reduce, "reduce")] {
        let mut writer = Writer {
            code,
            networks,
            lines: Lines::default(),
            givens: Vec::new(),
            tid: String::new(),
            lane: String::new(),
            warp: String::new(),
            warps: String::new(),
            threads: String::new(),
        };
        writer.kernel(task)?;
        let _ = write!(
            text,
            "\n.visible .entry {}_{name}_kernel(\n{}\n)\n{{\n    .shared .align 8 .b8 totals[{}];\n{}{}}}\n",
            code.name,
            writer.params().join(",\n"),
            32 * writer.size(),
            writer.lines.declarations(),
            writer.lines.text
        );
    }
    Ok(text)
}

/// The type with which a value is loaded and stored.
fn memory(kind: Kind) -> String {
    match kind {
        Kind::Boolean => "u8".to_owned(),
        Kind::Signed(bits) => format!("s{bits}"),
        Kind::Unsigned(bits) => format!("u{bits}"),
        Kind::Float(bits) => format!("f{bits}"),
    }
}

impl Writer<'_> {
    /// The type of numbers.
    fn ty(&self) -> String {
        memory(self.code.numbers)
    }

    fn is_boolean(&self, at: usize) -> bool {
        self.code.subject().accumulators[at].sort == Sort::Boolean
    }

    fn has_booleans(&self) -> bool {
        (0..self.code.subject().accumulators.len()).any(|at| self.is_boolean(at))
    }

    /// The bytes of a state: its numbers, and a word with a bit for each boolean.
    fn size(&self) -> u32 {
        let accumulators = &self.code.subject().accumulators;
        let numbers = accumulators.iter().filter(|own| own.sort != Sort::Boolean).count() as u32;
        numbers * self.code.numbers.bits() / 8 + if self.has_booleans() { 4 } else { 0 }
    }

    fn params(&self) -> Vec<String> {
        let subject = self.code.subject();
        let inputs = subject.inputs.iter().enumerate();
        let inputs = inputs.map(|(at, _)| format!("    .param .u64 in_{at}"));
        let givens = subject.givens.iter().enumerate();
        let givens =
            givens.map(|(at, read)| format!("    .param .{} given_{at}", memory(read.kind)));
        let results = subject.result.iter().enumerate();
        let results = results.map(|(at, _)| format!("    .param .u64 out_{at}"));
        let count = std::iter::once("    .param .u32 n".to_owned());
        inputs.chain(givens).chain(results).chain(count).collect()
    }

    /// A register for a number.
    fn number(&mut self) -> String {
        if self.code.numbers.bits() == 64 { self.lines.wide() } else { self.lines.register() }
    }

    /// The result of an instruction on words.
    fn word(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.lines.register();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The result of an instruction on numbers.
    fn numeric(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.number();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The result of an instruction on predicates, or of a comparison.
    fn predicate(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.lines.predicate();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    fn literal(&self, number: i64) -> String {
        match self.code.numbers {
            Kind::Unsigned(32) => format!("{}", number as u32),
            Kind::Unsigned(_) => format!("{:#x}", number as u64),
            Kind::Float(32) => format!("0f{:08X}", (number as f32).to_bits()),
            Kind::Float(_) => format!("0d{:016X}", (number as f64).to_bits()),
            _ if number == i64::MIN => "0x8000000000000000".to_owned(),
            _ => number.to_string(),
        }
    }

    /// The values of terms, each in a register; what they share is computed once.
    fn terms(&mut self, terms: &[Shared], of: &dyn Fn(u32) -> String) -> Vec<String> {
        let mut known = FxHashMap::default();
        let values: Vec<String> =
            terms.iter().map(|term| self.term(term, of, &mut known)).collect();
        let ty = self.ty();
        let held = |value: String| match value.starts_with('%') {
            true => value,
            false => self.numeric(&format!("mov.{ty}"), &value),
        };
        values.into_iter().map(held).collect()
    }

    fn term(
        &mut self,
        term: &Shared,
        of: &dyn Fn(u32) -> String,
        known: &mut FxHashMap<Shared, String>,
    ) -> String {
        if let Some(register) = known.get(term) {
            return register.clone();
        }
        let ty = self.ty();
        let made = match &**term {
            Term::Number(number) => self.literal(*number),
            Term::Truth(truth) => self.predicate("mov.pred", if *truth { "1" } else { "0" }),
            Term::Variable(variable) => of(*variable),
            Term::Not(a) => {
                let a = self.term(a, of, known);
                self.predicate("not.pred", &a)
            }
            Term::If(c, a, b) => {
                let (c, x) = (self.term(c, of, known), self.term(a, of, known));
                let y = self.term(b, of, known);
                match super::sort(self.code.subject(), a) {
                    Sort::Boolean => self.choice(&c, &x, &y),
                    _ => self.numeric(&format!("selp.{ty}"), &format!("{x}, {y}, {c}")),
                }
            }
            Term::Binary(op, a, b) => {
                let truths = super::sort(self.code.subject(), a) == Sort::Boolean;
                let (a, b) = (self.term(a, of, known), self.term(b, of, known));
                let both = format!("{a}, {b}");
                match op {
                    Op::Add => self.numeric(&format!("add.{ty}"), &both),
                    Op::Sub => self.numeric(&format!("sub.{ty}"), &both),
                    Op::Mul if matches!(self.code.numbers, Kind::Float(_)) => {
                        self.numeric(&format!("mul.{ty}"), &both)
                    }
                    Op::Mul => self.numeric(&format!("mul.lo.{ty}"), &both),
                    Op::Min => self.numeric(&format!("min.{ty}"), &both),
                    Op::Max => self.numeric(&format!("max.{ty}"), &both),
                    Op::Div => self.quotient(&a, &b),
                    Op::Rem => self.remainder(&a, &b).0,
                    Op::Equal if truths => {
                        let differ = self.predicate("xor.pred", &both);
                        self.predicate("not.pred", &differ)
                    }
                    Op::Equal => self.predicate(&format!("setp.eq.{ty}"), &both),
                    Op::Less => self.predicate(&format!("setp.lt.{ty}"), &both),
                    Op::LessEqual => self.predicate(&format!("setp.le.{ty}"), &both),
                    Op::And => self.predicate("and.pred", &both),
                    Op::Or => self.predicate("or.pred", &both),
                }
            }
        };
        known.insert(term.clone(), made.clone());
        made
    }

    /// One of two booleans.
    fn choice(&mut self, c: &str, a: &str, b: &str) -> String {
        let not = self.predicate("not.pred", c);
        let (a, b) = (
            self.predicate("and.pred", &format!("{c}, {a}")),
            self.predicate("and.pred", &format!("{not}, {b}")),
        );
        self.predicate("or.pred", &format!("{a}, {b}"))
    }

    /// The remainder as Euclid has it, and where the machine's was negative; only numbers with a sign are divided.
    fn remainder(&mut self, a: &str, b: &str) -> (String, String) {
        let ty = self.ty();
        let left = self.numeric(&format!("rem.{ty}"), &format!("{a}, {b}"));
        if self.code.has(Bug::MachineRemainder) {
            return (left, self.predicate("mov.pred", "0"));
        }
        let negative = self.predicate(&format!("setp.lt.{ty}"), &format!("{left}, 0"));
        let size = self.numeric(&format!("abs.{ty}"), b);
        let turned = self.numeric(&format!("add.{ty}"), &format!("{left}, {size}"));
        let made = self.numeric(&format!("selp.{ty}"), &format!("{turned}, {left}, {negative}"));
        (made, negative)
    }

    fn quotient(&mut self, a: &str, b: &str) -> String {
        let ty = self.ty();
        let (_, negative) = self.remainder(a, b);
        let plain = self.numeric(&format!("div.{ty}"), &format!("{a}, {b}"));
        let below = self.predicate(&format!("setp.lt.{ty}"), &format!("{b}, 0"));
        let one = self.numeric(&format!("selp.{ty}"), &format!("1, -1, {below}"));
        let turned = self.numeric(&format!("add.{ty}"), &format!("{plain}, {one}"));
        self.numeric(&format!("selp.{ty}"), &format!("{turned}, {plain}, {negative}"))
    }

    /// The state of no elements, in registers that may be written again.
    fn unit(&mut self) -> State {
        let starts = self.code.subject().accumulators.iter();
        let starts: Vec<(bool, i64)> =
            starts.map(|own| (own.sort == Sort::Boolean, own.start)).collect();
        let one = |(boolean, start): (bool, i64)| match boolean {
            true => self.predicate("mov.pred", if start != 0 { "1" } else { "0" }),
            false => {
                let (ty, start) = (self.ty(), self.literal(start));
                self.numeric(&format!("mov.{ty}"), &start)
            }
        };
        starts.into_iter().map(one).collect()
    }

    /// Puts a state into other registers.
    fn assign(&mut self, to: &State, from: &State) {
        let ty = self.ty();
        // What is read later must not be written before.
        let careless = self.code.has(Bug::WrittenTooEarly);
        let held: State = from
            .iter()
            .enumerate()
            .map(|(at, from)| {
                match (!careless && to.contains(from) && to[at] != *from, self.is_boolean(at)) {
                    (false, _) => from.clone(),
                    (true, true) => self.predicate("mov.pred", from),
                    (true, false) => self.numeric(&format!("mov.{ty}"), from),
                }
            })
            .collect();
        for (at, (to, from)) in to.iter().zip(&held).enumerate() {
            let kind = if self.is_boolean(at) { "pred" } else { &ty };
            self.lines.line(&format!("mov.{kind} {to}, {from};"));
        }
    }

    /// For each accumulator the new value where a condition holds, else the old one.
    fn chosen(&mut self, condition: &str, new: &State, old: &State) -> State {
        let ty = self.ty();
        let one = |at: usize| match self.is_boolean(at) {
            true => self.choice(condition, &new[at], &old[at]),
            false => {
                let operands = format!("{}, {}, {condition}", new[at], old[at]);
                self.numeric(&format!("selp.{ty}"), &operands)
            }
        };
        (0..new.len()).map(one).collect()
    }

    /// The state after two lists.
    fn combined(&mut self, a: &State, b: &State) -> State {
        let givens = self.givens.clone();
        let of = |variable: u32| match variable {
            RIGHT.. => b[(variable - RIGHT) as usize].clone(),
            GIVEN.. => givens[(variable - GIVEN) as usize].clone(),
            _ => a[variable as usize].clone(),
        };
        let found = self.code.found;
        self.terms(&found.combine, &of)
    }

    /// The booleans of a state as bits of a word.
    fn flags(&mut self, state: &State) -> Option<String> {
        let booleans = (0..state.len()).filter(|&at| self.is_boolean(at)).collect::<Vec<_>>();
        let bits = booleans
            .into_iter()
            .enumerate()
            .map(|(bit, at)| self.word("selp.b32", &format!("{}, 0, {}", 1u32 << bit, state[at])));
        bits.collect::<Vec<_>>()
            .into_iter()
            .reduce(|a, b| self.word("or.b32", &format!("{a}, {b}")))
    }

    /// A state of numbers and the word with its booleans, each made by the function from its place.
    fn state(
        &mut self,
        each: &mut dyn FnMut(&mut Self, usize) -> String,
        flags: Option<&str>,
    ) -> State {
        let mut bit = 0;
        let count = self.code.subject().accumulators.len();
        let mut state = State::new();
        for at in 0..count {
            state.push(match (self.is_boolean(at), flags) {
                (true, Some(flags)) => {
                    let own = self.word("and.b32", &format!("{flags}, {}", 1u32 << bit));
                    bit += u32::from(!self.code.has(Bug::OneFlag));
                    self.predicate("setp.ne.u32", &format!("{own}, 0"))
                }
                _ => each(self, at),
            });
        }
        state
    }

    /// The state of another lane, by a shuffle with these operands behind the value.
    fn moved(&mut self, state: &State, (instruction, operands): (&str, &str)) -> State {
        let wide = self.code.numbers.bits() == 64;
        let flags = self.flags(state);
        let shuffle = |writer: &mut Self, word: &str| {
            writer.word(instruction, &format!("{word}, {operands}"))
        };
        let flags = flags.map(|flags| shuffle(self, &flags));
        let mut each = |writer: &mut Self, at: usize| {
            if !wide {
                return shuffle(writer, &state[at]);
            }
            let (low, high) = (writer.lines.register(), writer.lines.register());
            writer.lines.line(&format!("mov.b64 {{{low}, {high}}}, {};", state[at]));
            let low = shuffle(writer, &low);
            let high = match writer.code.has(Bug::HighHalfStays) {
                true => high,
                false => shuffle(writer, &high),
            };
            writer.numeric("mov.b64", &format!("{{{low}, {high}}}"))
        };
        self.state(&mut each, flags.as_deref())
    }

    /// A network of the warp; `lanes` is the register with what it leaves open.
    fn network(
        &mut self,
        (network, solution): &(Network, Solution),
        mut state: State,
        lanes: Option<&str>,
    ) -> Result<State, String> {
        let (_, steps) = steps(network, solution, lanes.map(|_| LANES))?;
        let lane = self.lane.clone();
        let mut names = vec![(network.lane.as_str(), lane.as_str())];
        names.extend(lanes.map(|lanes| (LANES, lanes)));
        for Step { source, guards, behind } in &steps {
            let shuffle = Shuffle::of(network, source)?;
            let (instruction, operands) = shuffle.code(|index| self.lines.value(index, &names))?;
            let other = self.moved(&state, (instruction, &operands));
            let new = match *behind != self.code.has(Bug::OperandsTurned) {
                true => self.combined(&state, &other),
                false => self.combined(&other, &state),
            };
            let mut all: Option<String> = None;
            for guard in guards {
                let one = self.lines.condition(&machine(network, guard)?, &names)?;
                all = Some(match all {
                    Some(all) => self.predicate("and.pred", &format!("{all}, {one}")),
                    None => one,
                });
            }
            state = match all {
                Some(all) => self.chosen(&all, &new, &state),
                None => new,
            };
        }
        Ok(state)
    }

    /// The address of a warp's first total, and for each accumulator its offset and bytes; the word of booleans last.
    fn total(&mut self, warp: &str) -> (Vec<String>, Option<String>) {
        let each = self.code.numbers.bits() / 8;
        let base = self.lines.once("mov.u32", "totals");
        let place = self.word("mad.lo.u32", &format!("{warp}, {each}, {base}"));
        let mut numbers = 0;
        let count = self.code.subject().accumulators.len();
        let places = (0..count).map(|at| {
            let step = if self.code.has(Bug::TotalsOverlap) { 1 } else { 32 };
            let offset = step * each * numbers;
            numbers += u32::from(!self.is_boolean(at));
            format!("[{place}+{offset}]")
        });
        let places: Vec<String> = places.collect();
        let flags = self.has_booleans().then(|| {
            let place = self.word("mad.lo.u32", &format!("{warp}, 4, {base}"));
            format!("[{place}+{}]", 32 * each * numbers)
        });
        (places, flags)
    }

    /// Stores a warp's total where a condition holds.
    fn store(&mut self, state: &State, warp: &str, condition: &str) {
        let bits = self.code.numbers.bits();
        let (places, flags) = self.total(warp);
        for (at, place) in
            places.iter().enumerate().filter(|(at, _)| !self.is_boolean(*at)).collect::<Vec<_>>()
        {
            self.lines.line(&format!("@{condition} st.shared.b{bits} {place}, {};", state[at]));
        }
        if let (Some(place), Some(word)) = (flags, self.flags(state)) {
            self.lines.line(&format!("@{condition} st.shared.b32 {place}, {word};"));
        }
    }

    /// A warp's total.
    fn load(&mut self, warp: &str) -> State {
        let bits = self.code.numbers.bits();
        let (places, flags) = self.total(warp);
        let flags = flags.map(|place| self.word("ld.shared.b32", &place));
        let mut each = |writer: &mut Self, at: usize| {
            writer.numeric(&format!("ld.shared.b{bits}"), &places[at])
        };
        self.state(&mut each, flags.as_deref())
    }

    /// In the first warp, its lane where there is a warp of this number, else 0.
    fn own_warp(&mut self) -> (String, String) {
        let operands = format!("{}, {}", self.lane, self.warps);
        let inside = self.predicate("setp.lt.u32", &operands);
        let own = self.word("selp.b32", &format!("{}, 0, {inside}", self.lane));
        (own, inside)
    }

    /// The product of the values in front of each thread.
    fn prefix(&mut self, state: State) -> Result<State, String> {
        let networks = self.networks;
        let state = self.network(&networks.scan, state, None)?;
        // (Nobody is behind a warp that is not whole.)
        let ends = self.predicate("setp.eq.u32", &format!("{}, 31", self.lane));
        let warp = self.warp.clone();
        self.store(&state, &warp, &ends);
        let behind = self.predicate("setp.ne.u32", &format!("{warp}, 0"));
        self.lines.line("bar.sync 0;");
        self.lines.line(&format!("@{behind} bra TOTALS;"));
        let (own, inside) = self.own_warp();
        let total = self.load(&own);
        let total = self.network(&networks.scan, total, None)?;
        self.store(&total, &own, &inside);
        self.lines.text.push_str("TOTALS:\n");
        if !self.code.has(Bug::TotalsTooEarly) {
            self.lines.line("bar.sync 0;");
        }
        let first = self.predicate("setp.eq.u32", &format!("{}, 0", self.lane));
        let moved = self.moved(&state, ("shfl.sync.up.b32", "1, 0, -1"));
        let unit = self.unit();
        let own = match self.code.has(Bug::UnitForgotten) {
            true => moved,
            false => self.chosen(&first, &unit, &moved),
        };
        let before = self.word("sub.u32", &format!("{warp}, 1"));
        let before = self.word("selp.b32", &format!("{before}, 0, {behind}"));
        if self.code.has(Bug::FrontForgotten) {
            return Ok(own);
        }
        let front = self.load(&before);
        let all = self.combined(&front, &own);
        Ok(self.chosen(&behind, &all, &own))
    }

    /// The product of all values, in thread 0; other threads are done.
    fn reduced(&mut self, state: State) -> Result<State, String> {
        let (networks, warp) = (self.networks, self.warp.clone());
        let before = self.word("shl.b32", &format!("{warp}, 5"));
        let rest = self.word("sub.u32", &format!("{}, {before}", self.threads));
        let lanes = match self.code.has(Bug::AllLanesReduced) {
            true => self.word("mov.u32", "32"),
            false => self.word("min.u32", &format!("{rest}, 32")),
        };
        let state = self.network(&networks.reduce, state, Some(&lanes))?;
        let first = self.predicate("setp.eq.u32", &format!("{}, 0", self.lane));
        self.store(&state, &warp, &first);
        let behind = self.predicate("setp.ne.u32", &format!("{warp}, 0"));
        self.lines.line("bar.sync 0;");
        self.lines.line(&format!("@{behind} ret;"));
        let (own, _) = self.own_warp();
        let total = self.load(&own);
        let warps = self.warps.clone();
        let total = self.network(&networks.reduce, total, Some(&warps))?;
        let others = self.predicate("setp.ne.u32", &format!("{}, 0", self.lane));
        self.lines.line(&format!("@{others} ret;"));
        Ok(total)
    }

    /// Loads a value of this type as it is computed with.
    fn loaded(&mut self, kind: Kind, space: &str, place: &str) -> String {
        let bits = self.code.numbers.bits();
        let memory = match kind {
            Kind::Signed(bits) if self.code.has(Bug::ElementSign) => memory(Kind::Unsigned(bits)),
            kind => memory(kind),
        };
        match (kind, bits) {
            (Kind::Boolean, _) => {
                let byte = self.word(&format!("ld.{space}.u8"), place);
                self.predicate("setp.ne.u32", &format!("{byte}, 0"))
            }
            (Kind::Float(from), to) if from != to => {
                let from = match from {
                    64 => self.lines.wide(),
                    _ => self.lines.register(),
                };
                self.lines.line(&format!("ld.{space}.{memory} {from}, {place};"));
                let rounding = if bits == 32 { ".rn" } else { "" };
                self.numeric(&format!("cvt{rounding}.{}.{memory}", self.ty()), &from)
            }
            // (Of wider integers the low half is what counts.)
            (Kind::Signed(64) | Kind::Unsigned(64), 32) => {
                self.word(&format!("ld.{space}.b32"), place)
            }
            _ => self.numeric(&format!("ld.{space}.{memory}"), place),
        }
    }

    /// Stores the results for a state.
    fn results(&mut self, state: &State, outputs: &[String], index: &str) {
        let subject = self.code.subject();
        let givens = self.givens.clone();
        let of = |variable: u32| match variable {
            GIVEN.. => givens[(variable - GIVEN) as usize].clone(),
            _ => state[variable as usize].clone(),
        };
        let values = self.terms(&subject.result, &of);
        for (at, (value, output)) in values.iter().zip(outputs).enumerate() {
            let kind = self.code.result(at);
            let place = self.lines.wide();
            let bytes = kind.bits() / 8;
            self.lines.line(&format!("mad.wide.u32 {place}, {index}, {bytes}, {output};"));
            match kind {
                Kind::Boolean => {
                    let byte = self.word("selp.u32", &format!("1, 0, {value}"));
                    self.lines.line(&format!("st.global.u8 [{place}], {byte};"));
                }
                kind => {
                    let bits = kind.bits();
                    self.lines.line(&format!("st.global.b{bits} [{place}], {value};"));
                }
            }
        }
    }

    fn kernel(&mut self, task: Task) -> Result<(), String> {
        let subject = self.code.subject();
        self.tid = self.word("mov.u32", "%tid.x");
        self.threads = self.word("mov.u32", "%ntid.x");
        self.lane = self.word("and.b32", &format!("{}, 31", self.tid));
        self.warp = self.word("shr.u32", &format!("{}, 5", self.tid));
        let more = self.word("add.u32", &format!("{}, 31", self.threads));
        self.warps = self.word("shr.u32", &format!("{more}, 5"));
        let address = |writer: &mut Self, name: String| {
            let register = writer.lines.wide();
            writer.lines.line(&format!("ld.param.u64 {register}, [{name}];"));
            register
        };
        let inputs = (0..subject.inputs.len()).map(|at| address(self, format!("in_{at}")));
        let inputs: Vec<String> = inputs.collect();
        let outputs = (0..subject.result.len()).map(|at| address(self, format!("out_{at}")));
        let outputs: Vec<String> = outputs.collect();
        for (at, read) in subject.givens.iter().enumerate() {
            let given = self.loaded(read.kind, "param", &format!("[given_{at}]"));
            self.givens.push(given);
        }
        let n = self.word("ld.param.u32", "[n]");
        let more = self.word("add.u32", &format!("{n}, {}", self.threads));
        let more = self.word("sub.u32", &format!("{more}, 1"));
        let each = self.word("div.u32", &format!("{more}, {}", self.threads));
        let first = self.word("mul.lo.u32", &format!("{each}, {}", self.tid));
        let first = self.word("min.u32", &format!("{first}, {n}"));
        let last = self.word("add.u32", &format!("{first}, {each}"));
        let last = match self.code.has(Bug::ShareTooLong) {
            true => last,
            false => self.word("min.u32", &format!("{last}, {n}")),
        };
        let state = self.unit();
        let range = [first.as_str(), last.as_str()];
        self.share(&state, range, &inputs, &[], "OWN");
        match task {
            Task::Scan => {
                let before = self.prefix(state.clone())?;
                self.assign(&state, &before);
                self.share(&state, range, &inputs, &outputs, "RESULTS");
            }
            Task::Reduce => {
                let total = self.reduced(state)?;
                self.results(&total, &outputs, "0");
            }
        }
        self.lines.line("ret;");
        Ok(())
    }

    /// The serial loop over a thread's share; writes the results where there are outputs.
    fn share(
        &mut self,
        state: &State,
        [first, last]: [&str; 2],
        inputs: &[String],
        outputs: &[String],
        label: &str,
    ) {
        let subject = self.code.subject();
        let index = self.word("mov.u32", first);
        let _ = writeln!(self.lines.text, "{label}:");
        let done = self.predicate("setp.ge.u32", &format!("{index}, {last}"));
        self.lines.line(&format!("@{done} bra {label}_DONE;"));
        let mut elements = Vec::new();
        for (read, base) in subject.inputs.iter().zip(inputs) {
            let place = self.lines.wide();
            let bytes = read.kind.bits() / 8;
            self.lines.line(&format!("mad.wide.u32 {place}, {index}, {bytes}, {base};"));
            elements.push(self.loaded(read.kind, "global", &format!("[{place}]")));
        }
        let givens = self.givens.clone();
        let of = |variable: u32| match variable {
            GIVEN.. => givens[(variable - GIVEN) as usize].clone(),
            INPUT.. => elements[(variable - INPUT) as usize].clone(),
            _ => state[variable as usize].clone(),
        };
        let steps: Vec<Shared> = subject.accumulators.iter().map(|own| own.step.clone()).collect();
        let new = self.terms(&steps, &of);
        self.assign(state, &new);
        if !outputs.is_empty() {
            self.results(state, outputs, &index);
        }
        self.lines.line(&format!("add.u32 {index}, {index}, 1;"));
        self.lines.line(&format!("bra {label};"));
        let _ = writeln!(self.lines.text, "{label}_DONE:");
    }
}

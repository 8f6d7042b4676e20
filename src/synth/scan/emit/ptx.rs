//! An operator as PTX: a kernel of one block that scans a list, and one that reduces it.

use std::fmt::Write as _;

use super::Code;
use super::networks::{LANES, Networks};
use super::writer::{State, Writer, memory};
use crate::synth::emit::index::Lines;
use crate::synth::network::emit::{Shuffle, Step, machine, steps};
use crate::synth::network::{Network, Solution};
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{GIVEN, INPUT, Shared, Sort};

/// What a kernel does with a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Scan,
    Reduce,
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

impl Writer<'_> {
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
                    bit += u32::from(!planted!(Bug::OneFlag));
                    self.predicate("setp.ne.u32", &format!("{own}, 0"))
                }
                _ => each(self, at),
            });
        }
        state
    }

    /// The state of another lane, by a shuffle with these operands behind the value.
    fn moved(&mut self, state: &State, (instruction, operands): (&str, &str)) -> State {
        let flags = self.flags(state);
        let shuffle = |writer: &mut Self, word: &str| {
            writer.word(instruction, &format!("{word}, {operands}"))
        };
        let flags = flags.map(|flags| shuffle(self, &flags));
        let mut each = |writer: &mut Self, at: usize| {
            let kind = writer.code.accumulated(at);
            if kind.bits() != 64 {
                return shuffle(writer, &state[at]);
            }
            let (low, high) = (writer.lines.register(), writer.lines.register());
            writer.lines.line(&format!("mov.b64 {{{low}, {high}}}, {};", state[at]));
            let low = shuffle(writer, &low);
            let high = match planted!(Bug::HighHalfStays) {
                true => high,
                false => shuffle(writer, &high),
            };
            writer.numeric(kind, "mov.b64", &format!("{{{low}, {high}}}"))
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
            let new = match *behind != planted!(Bug::OperandsTurned) {
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

    /// The address of each accumulator of a warp's total; that of the word of booleans last.
    fn total(&mut self, warp: &str) -> (Vec<String>, Option<String>) {
        let base = self.lines.once("mov.u32", "totals");
        let count = self.code.subject().accumulators.len();
        let mut of_width: Vec<(u32, String)> = Vec::new();
        let (mut offset, mut places) = (0, Vec::new());
        for at in 0..count {
            let bytes = match self.code.accumulated(at) {
                Kind::Boolean => 0,
                kind => kind.bits() / 8,
            };
            let known = of_width.iter().find(|(width, _)| *width == bytes || bytes == 0);
            let place = match known {
                Some((_, place)) => place.clone(),
                None if bytes == 0 => base.clone(),
                None => {
                    let place = self.word("mad.lo.u32", &format!("{warp}, {bytes}, {base}"));
                    of_width.push((bytes, place.clone()));
                    place
                }
            };
            let step = if planted!(Bug::TotalsOverlap) { 1 } else { 32 };
            places.push(format!("[{place}+{}]", step * offset));
            offset += bytes;
        }
        let flags = self.has_booleans().then(|| {
            let place = self.word("mad.lo.u32", &format!("{warp}, 4, {base}"));
            format!("[{place}+{}]", 32 * offset)
        });
        (places, flags)
    }

    /// Stores a warp's total where a condition holds.
    fn store(&mut self, state: &State, warp: &str, condition: &str) {
        let (places, flags) = self.total(warp);
        for (at, place) in
            places.iter().enumerate().filter(|(at, _)| !self.is_boolean(*at)).collect::<Vec<_>>()
        {
            let bits = self.code.accumulated(at).bits();
            self.lines.line(&format!("@{condition} st.shared.b{bits} {place}, {};", state[at]));
        }
        if let (Some(place), Some(word)) = (flags, self.flags(state)) {
            self.lines.line(&format!("@{condition} st.shared.b32 {place}, {word};"));
        }
    }

    /// A warp's total.
    fn load(&mut self, warp: &str) -> State {
        let (places, flags) = self.total(warp);
        let flags = flags.map(|place| self.word("ld.shared.b32", &place));
        let mut each = |writer: &mut Self, at: usize| {
            let kind = writer.code.accumulated(at);
            writer.numeric(kind, &format!("ld.shared.b{}", kind.bits()), &places[at])
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
        // Lanes of this warp have read what others of its lanes overwrite, and shuffles order no memory.
        self.lines.line("bar.warp.sync -1;");
        self.store(&total, &own, &inside);
        self.lines.text.push_str("TOTALS:\n");
        if !planted!(Bug::TotalsTooEarly) {
            self.lines.line("bar.sync 0;");
        }
        let first = self.predicate("setp.eq.u32", &format!("{}, 0", self.lane));
        let moved = self.moved(&state, ("shfl.sync.up.b32", "1, 0, -1"));
        let unit = self.unit();
        let own = match planted!(Bug::UnitForgotten) {
            true => moved,
            false => self.chosen(&first, &unit, &moved),
        };
        let before = self.word("sub.u32", &format!("{warp}, 1"));
        let before = self.word("selp.b32", &format!("{before}, 0, {behind}"));
        if planted!(Bug::FrontForgotten) {
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
        let lanes = match planted!(Bug::AllLanesReduced) {
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
        let own = self.code.kind(kind.sort());
        let (bits, ty) = (own.bits(), memory(own));
        let memory = match kind {
            Kind::Signed(bits) if planted!(Bug::ElementSign) => memory(Kind::Unsigned(bits)),
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
                self.numeric(own, &format!("cvt{rounding}.{ty}.{memory}"), &from)
            }
            // (Of wider integers the low half is what counts.)
            (Kind::Signed(64) | Kind::Unsigned(64), 32) => {
                self.word(&format!("ld.{space}.b32"), place)
            }
            _ => self.numeric(own, &format!("ld.{space}.{memory}"), place),
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
        let results = subject.result.iter().map(|term| (term.clone(), self.code.sort(term)));
        let values = self.terms(&results.collect::<Vec<_>>(), &of);
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
        let last = match planted!(Bug::ShareTooLong) {
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
        let steps = subject.accumulators.iter().map(|own| (own.step.clone(), own.sort));
        let steps: Vec<(Shared, Sort)> = steps.collect();
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

//! An operator as PTX: a kernel of one block that scans a list, and one that reduces it.

use std::fmt::Display;

use super::Code;
use super::collectives::{Collective, REDUX};
use super::networks::{LANES, Networks};
use super::writer::{State, Writer, memory};
use crate::isa::ScalarType::{self, B32, B64, Pred};
use crate::ptx::write::{self, Block, Fresh, Op as Instruction, Reg, op};
use crate::synth::emit::index::{Scope, condition, value};
use crate::synth::network::emit::{Shuffle, Step, machine, steps};
use crate::synth::network::{Network, Solution};
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{Op, Shared, Sort, Values};

/// The task of a kernel on a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Scan,
    Reduce,
}

/// Both kernels: `NAME_scan_kernel` writes the results for the elements up to each one, `NAME_reduce_kernel` those for
/// the collectives list. Their params are the addresses of the inputs, the given values, the addresses of the results, and
/// the number of elements, below 2^30; they run in one one-dimensional block of any size. `comment` stands in front.
///
/// # Errors
/// A network has no code.
pub fn ptx(code: &Code, networks: &Networks, comment: &str) -> Result<String, String> {
    let mut text = write::comment(comment) + head(code);
    for (task, name) in [(Task::Scan, "scan"), (Task::Reduce, "reduce")] {
        let mut block = Block::new(Fresh::new("%"), "    ");
        let tid = block.word(op!(Mov.U32), &[&"%tid.x"]);
        let threads = block.word(op!(Mov.U32), &[&"%ntid.x"]);
        let lane = block.word(op!(And.B32), &[&tid, &31]);
        let warp = block.word(op!(Shr.U32), &[&tid, &5]);
        let more = block.word(op!(Add.U32), &[&threads, &31]);
        let warps = block.word(op!(Shr.U32), &[&more, &5]);
        let givens = Vec::new();
        let mut writer = Writer { code, networks, block, givens, tid, lane, warp, warps, threads };
        writer.kernel(task)?;
        text.push_str(&format!(
            "\n.visible .entry {}_{name}_kernel(\n{}\n)\n{{\n    .shared .align 8 .b8 totals[{}];\n{}}}\n",
            code.name,
            writer.params().join(",\n"),
            32 * writer.size(),
            writer.block.text()
        ));
    }
    Ok(text)
}

/// The head of a module for the oldest architecture that has its instructions.
fn head(code: &Code) -> &'static str {
    if code.architecture < REDUX { write::HEAD } else { write::HEAD_OF_REDUX }
}

impl Writer<'_> {
    fn params(&self) -> Vec<String> {
        let subject = self.code.subject();
        let inputs = subject.inputs.iter().enumerate();
        let inputs = inputs.map(|(at, _)| format!("    .param .u64 in_{at}"));
        let givens = subject.givens.iter().enumerate();
        let givens =
            givens.map(|(at, read)| format!("    .param {} given_{at}", memory(read.kind)));
        let results = subject.result.iter().enumerate();
        let results = results.map(|(at, _)| format!("    .param .u64 out_{at}"));
        let count = std::iter::once("    .param .u32 n".to_owned());
        inputs.chain(givens).chain(results).chain(count).collect()
    }

    /// The booleans of a state as bits of a word.
    fn flags(&mut self, state: &State) -> Option<Reg> {
        let booleans: Vec<&Reg> = state.iter().filter(|register| register.ty == Pred).collect();
        let block = &mut self.block;
        let bit = |(bit, own): (usize, &Reg)| block.word(op!(Selp.B32), &[&(1u32 << bit), &0, own]);
        let bits: Vec<Reg> = booleans.into_iter().enumerate().map(bit).collect();
        bits.into_iter().reduce(|a, b| self.block.word(op!(Or.B32), &[&a, &b]))
    }

    /// A state of numbers and the word with its booleans, each made by the function from its place.
    fn state(
        &mut self,
        each: &mut dyn FnMut(&mut Self, usize) -> Reg,
        flags: Option<&Reg>,
    ) -> State {
        let mut bit = 0;
        let count = self.code.subject().accumulators.len();
        let mut state = State::new();
        for at in 0..count {
            state.push(match (self.is_boolean(at), flags) {
                (true, Some(flags)) => {
                    let own = self.block.word(op!(And.B32), &[flags, &(1u32 << bit)]);
                    bit += u32::from(!planted!(Bug::OneFlag));
                    self.block.test(op!(Setp.Ne.U32), &[&own, &0])
                }
                _ => each(self, at),
            });
        }
        state
    }

    /// The state of another lane, by a shuffle with these operands behind the value.
    fn moved(&mut self, state: &State, (instruction, operands): (Instruction, &str)) -> State {
        let flags = self.flags(state);
        let flags = flags.map(|flags| self.block.word(instruction, &[&flags, &operands]));
        let mut each = |writer: &mut Self, at: usize| {
            let (own, bits) = (&state[at], state[at].ty.bits());
            let words =
                writer.block.fetched(
                    (own, bits),
                    &mut |code, fresh, word, number| match number == 1
                        && planted!(Bug::HighHalfStays)
                    {
                        true => code.set(fresh.word(), op!(Mov.B32), &[&word]),
                        false => code.set(fresh.word(), instruction, &[&word, &operands]),
                    },
                );
            match &words[..] {
                [word] => word.clone(),
                halves => writer.block.make(B64, op!(Mov.B64), &[&write::vector(halves)]),
            }
        };
        self.state(&mut each, flags.as_ref())
    }

    /// A network of the warp; `lanes` is the register with its open number of lanes.
    fn network(
        &mut self,
        (network, solution): &(Network, Solution),
        mut state: State,
        lanes: Option<&Reg>,
    ) -> Result<State, String> {
        let (_, steps) = steps(network, solution, lanes.map(|_| LANES))?;
        let lane = self.lane.clone();
        let mut names = vec![(network.lane.as_str(), lane)];
        names.extend(lanes.map(|lanes| (LANES, lanes.clone())));
        let scope = Scope::of(&names);
        for Step { source, guards, behind } in &steps {
            let shuffle = Shuffle::of(network, source)?;
            let (instruction, operands) =
                shuffle.code(|index| value(&mut self.block, index, scope))?;
            let other = self.moved(&state, (instruction, &operands));
            let new = match *behind != planted!(Bug::OperandsTurned) {
                true => self.combined(&state, &other),
                false => self.combined(&other, &state),
            };
            let mut all: Option<Reg> = None;
            for guard in guards {
                let one = condition(&mut self.block, &machine(network, guard)?, scope)?;
                all = Some(match all {
                    Some(all) => self.block.test(op!(And.Pred), &[&all, &one]),
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

    /// The product of the states up to each lane.
    fn scanned_by_the_warp(&mut self, state: State) -> Result<State, String> {
        let Some(ballots) = self.code.ballots() else {
            return self.network(&self.networks.scan, state, None);
        };
        let up_to = self.block.word(op!(Mov.U32), &[&"%lanemask_le"]);
        let one = |(op, own): (Op, &Reg)| {
            let (block, all) = (&mut self.block, op == Op::And);
            // Whether it holds in all lanes: in none, it does not.
            let counted = if all { block.test(op!(Not.Pred), &[own]) } else { own.clone() };
            let ballot = block.word(op!(Vote.Sync.Ballot.B32), &[&counted, &-1]);
            let before = match planted!(Bug::BallotOfAll) {
                true => ballot,
                false => block.word(op!(And.B32), &[&ballot, &up_to]),
            };
            let comparison = if all { op!(Setp.Eq.U32) } else { op!(Setp.Ne.U32) };
            block.test(comparison, &[&before, &0])
        };
        Ok(ballots.into_iter().zip(&state).map(one).collect())
    }

    /// The product of the states of a warp's first `lanes` lanes, in lane 0.
    fn reduced_by_the_warp(&mut self, state: State, lanes: &Reg) -> Result<State, String> {
        let collectives = self.code.collectives();
        match collectives
            .filter(|collectives| Collective::architecture(collectives) <= self.code.architecture)
        {
            Some(collectives) => Ok(self.at_once(&collectives, &state, lanes)),
            None => self.network(&self.networks.reduce, state, Some(lanes)),
        }
    }

    /// The same by one instruction for each accumulator; lanes behind the first ones take part with the state of no
    /// elements.
    fn at_once(&mut self, collectives: &[Collective], state: &State, lanes: &Reg) -> State {
        let inside = self.block.test(op!(Setp.Lt.U32), &[&self.lane, lanes]);
        let unit = self.unit();
        let own = match planted!(Bug::OthersCombined) {
            true => state.clone(),
            false => self.chosen(&inside, state, &unit),
        };
        let one = |(at, (collectives, own)): (usize, (&Collective, &Reg))| {
            let kind = match self.code.accumulated(at) {
                Kind::Signed(bits) if planted!(Bug::ReduxUnsigned) => Kind::Unsigned(bits),
                kind => kind,
            };
            self.block.make(own.ty, collectives.instruction(memory(kind)), &[own, &-1])
        };
        collectives.iter().zip(&own).enumerate().map(one).collect()
    }

    /// The address of each accumulator of a warp's total; that of the word of booleans last.
    fn total(&mut self, warp: &Reg) -> (Vec<String>, Option<String>) {
        let base = self.block.once(B32, op!(Mov.U32), &[&"totals"]);
        let count = self.code.subject().accumulators.len();
        let mut of_width: Vec<(u32, Reg)> = Vec::new();
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
                    let place = self.block.word(op!(Mad.Lo.U32), &[warp, &bytes, &base]);
                    of_width.push((bytes, place.clone()));
                    place
                }
            };
            let step = if planted!(Bug::TotalsOverlap) { 1 } else { 32 };
            places.push(format!("[{place}+{}]", step * offset));
            offset += bytes;
        }
        let flags = self.has_booleans().then(|| {
            let place = self.block.word(op!(Mad.Lo.U32), &[warp, &4, &base]);
            format!("[{place}+{}]", 32 * offset)
        });
        (places, flags)
    }

    /// Stores a warp's total where a condition holds.
    fn store(&mut self, state: &State, warp: &Reg, condition: &Reg) {
        let (places, flags) = self.total(warp);
        let guard = format!("@{condition} ");
        for (own, place) in state.iter().zip(&places).filter(|(own, _)| own.ty != Pred) {
            self.block.put_if(&guard, op!(St.Shared.(own.ty)), &[place, own]);
        }
        if let (Some(place), Some(word)) = (flags, self.flags(state)) {
            self.block.put_if(&guard, op!(St.Shared.B32), &[&place, &word]);
        }
    }

    /// A warp's total.
    fn load(&mut self, warp: &Reg) -> State {
        let (places, flags) = self.total(warp);
        let flags = flags.map(|place| self.block.word(op!(Ld.Shared.B32), &[&place]));
        let mut each = |writer: &mut Self, at: usize| {
            let ty = ScalarType::b(writer.code.accumulated(at).bits());
            writer.block.make(ty, op!(Ld.Shared.(ty)), &[&places[at]])
        };
        self.state(&mut each, flags.as_ref())
    }

    /// In the first warp, its lane where there is a warp of this number, else 0.
    fn own_warp(&mut self) -> (Reg, Reg) {
        let inside = self.block.test(op!(Setp.Lt.U32), &[&self.lane, &self.warps]);
        let own = self.block.word(op!(Selp.B32), &[&self.lane, &0, &inside]);
        (own, inside)
    }

    /// The product of the values in front of each thread.
    fn prefix(&mut self, state: State) -> Result<State, String> {
        let state = self.scanned_by_the_warp(state)?;
        // (Nobody is behind a warp that is not collectives.)
        let ends = self.block.test(op!(Setp.Eq.U32), &[&self.lane, &31]);
        let warp = self.warp.clone();
        self.store(&state, &warp, &ends);
        let behind = self.block.test(op!(Setp.Ne.U32), &[&warp, &0]);
        self.block.put(op!(Bar.Sync), &[&0]);
        self.block.put_if(&format!("@{behind} "), op!(Bra), &[&"TOTALS"]);
        let (own, inside) = self.own_warp();
        let total = self.load(&own);
        let total = self.scanned_by_the_warp(total)?;
        // Lanes of this warp have read bytes that other lanes of it overwrite, and shuffles do not order memory
        // accesses.
        self.block.put(op!(Bar.Warp.Sync), &[&-1]);
        self.store(&total, &own, &inside);
        self.block.text.push_str("TOTALS:\n");
        if !planted!(Bug::TotalsTooEarly) {
            self.block.put(op!(Bar.Sync), &[&0]);
        }
        let first = self.block.test(op!(Setp.Eq.U32), &[&self.lane, &0]);
        let moved = self.moved(&state, (op!(Shfl.Sync.Up.B32), "1, 0, -1"));
        let unit = self.unit();
        let own = match planted!(Bug::UnitForgotten) {
            true => moved,
            false => self.chosen(&first, &unit, &moved),
        };
        let before = self.block.word(op!(Sub.U32), &[&warp, &1]);
        let before = self.block.word(op!(Selp.B32), &[&before, &0, &behind]);
        if planted!(Bug::FrontForgotten) {
            return Ok(own);
        }
        let front = self.load(&before);
        let all = self.combined(&front, &own);
        Ok(self.chosen(&behind, &all, &own))
    }

    /// The product of all values, in thread 0; other threads are done.
    fn reduced(&mut self, state: State) -> Result<State, String> {
        let warp = self.warp.clone();
        let before = self.block.word(op!(Shl.B32), &[&warp, &5]);
        let rest = self.block.word(op!(Sub.U32), &[&self.threads, &before]);
        let lanes = match planted!(Bug::AllLanesReduced) {
            true => self.block.word(op!(Mov.U32), &[&32]),
            false => self.block.word(op!(Min.U32), &[&rest, &32]),
        };
        let state = self.reduced_by_the_warp(state, &lanes)?;
        let first = self.block.test(op!(Setp.Eq.U32), &[&self.lane, &0]);
        self.store(&state, &warp, &first);
        let behind = self.block.test(op!(Setp.Ne.U32), &[&warp, &0]);
        self.block.put(op!(Bar.Sync), &[&0]);
        self.block.put_if(&format!("@{behind} "), op!(Ret), &[]);
        let (own, _) = self.own_warp();
        let total = self.load(&own);
        let warps = self.warps.clone();
        let total = self.reduced_by_the_warp(total, &warps)?;
        let others = self.block.test(op!(Setp.Ne.U32), &[&self.lane, &0]);
        self.block.put_if(&format!("@{others} "), op!(Ret), &[]);
        Ok(total)
    }

    /// Loads a value of this type as it is computed with.
    fn loaded(&mut self, kind: Kind, load: Instruction, place: &str) -> Reg {
        let own = self.code.kind(kind.sort());
        let (ty, block) = (memory(own), &mut self.block);
        let memory = match kind {
            Kind::Signed(bits) if planted!(Bug::ElementSign) => memory(Kind::Unsigned(bits)),
            kind => memory(kind),
        };
        match (kind, own.bits()) {
            (Kind::Boolean, _) => {
                let byte = block.word(load.with(memory), &[&place]);
                block.test(op!(Setp.Ne.U32), &[&byte, &0])
            }
            (Kind::Float(from), to) if from != to => {
                let from = block.make(memory, load.with(memory), &[&place]);
                let convert = if to == 32 { op!(Cvt.Rn) } else { op!(Cvt) };
                block.make(ty, convert.with(ty).with(memory), &[&from])
            }
            // (Of wider integers only the low half is used.)
            (Kind::Signed(64) | Kind::Unsigned(64), 32) => block.word(load.with(B32), &[&place]),
            _ => block.make(ty, load.with(memory), &[&place]),
        }
    }

    /// Stores the results for a state.
    fn results(&mut self, state: &State, outputs: &[Reg], index: &dyn Display) {
        let subject = self.code.subject();
        let givens = self.givens.clone();
        let known = Values::new(state, &givens);
        let of = |variable: u32| known.of(variable).clone();
        let results = subject.result.iter().map(|term| (term.clone(), self.code.sort(term)));
        let values = self.terms(&results.collect::<Vec<_>>(), &of);
        for (at, (value, output)) in values.iter().zip(outputs).enumerate() {
            let kind = self.code.result(at);
            let place = self.place(index, kind, output);
            match kind {
                Kind::Boolean => {
                    let byte = self.block.word(op!(Selp.U32), &[&1, &0, value]);
                    self.block.put(op!(St.Global.U8), &[&place, &byte]);
                }
                kind => {
                    let ty = ScalarType::b(kind.bits());
                    self.block.put(op!(St.Global.(ty)), &[&place, value]);
                }
            }
        }
    }

    /// The place of an element of a list.
    fn place(&mut self, index: &dyn Display, kind: Kind, list: &Reg) -> String {
        let bytes = kind.bits() / 8;
        format!("[{}]", self.block.make(B64, op!(Mad.Wide.U32), &[index, &bytes, list]))
    }

    fn kernel(&mut self, task: Task) -> Result<(), String> {
        let subject = self.code.subject();
        let address = |block: &mut Block, name: String| {
            block.make(B64, op!(Ld.Param.U64), &[&format!("[{name}]")])
        };
        let block = &mut self.block;
        let inputs = (0..subject.inputs.len()).map(|at| address(block, format!("in_{at}")));
        let inputs: Vec<Reg> = inputs.collect();
        let outputs = (0..subject.result.len()).map(|at| address(block, format!("out_{at}")));
        let outputs: Vec<Reg> = outputs.collect();
        for (at, read) in subject.givens.iter().enumerate() {
            let given = self.loaded(read.kind, op!(Ld.Param), &format!("[given_{at}]"));
            self.givens.push(given);
        }
        let block = &mut self.block;
        let n = block.word(op!(Ld.Param.U32), &[&"[n]"]);
        let more = block.word(op!(Add.U32), &[&n, &self.threads]);
        let more = block.word(op!(Sub.U32), &[&more, &1]);
        let each = block.word(op!(Div.U32), &[&more, &self.threads]);
        let first = block.word(op!(Mul.Lo.U32), &[&each, &self.tid]);
        let first = block.word(op!(Min.U32), &[&first, &n]);
        let last = block.word(op!(Add.U32), &[&first, &each]);
        let last = match planted!(Bug::ShareTooLong) {
            true => last,
            false => block.word(op!(Min.U32), &[&last, &n]),
        };
        let state = self.unit();
        let range = [&first, &last];
        self.share(&state, range, &inputs, &[], "OWN");
        match task {
            Task::Scan => {
                let before = self.prefix(state.clone())?;
                self.assign(&state, &before);
                self.share(&state, range, &inputs, &outputs, "RESULTS");
            }
            Task::Reduce => {
                let total = self.reduced(state)?;
                self.results(&total, &outputs, &0);
            }
        }
        self.block.put(op!(Ret), &[]);
        Ok(())
    }

    /// The serial loop over a thread's share; writes the results where there are outputs.
    fn share(
        &mut self,
        state: &State,
        [first, last]: [&Reg; 2],
        inputs: &[Reg],
        outputs: &[Reg],
        label: &str,
    ) {
        let subject = self.code.subject();
        let index = self.block.word(op!(Mov.U32), &[first]);
        self.block.text.push_str(&format!("{label}:\n"));
        let done = self.block.test(op!(Setp.Ge.U32), &[&index, last]);
        self.block.put_if(&format!("@{done} "), op!(Bra), &[&format!("{label}_DONE")]);
        let mut elements = Vec::new();
        for (read, base) in subject.inputs.iter().zip(inputs) {
            let place = self.place(&index, read.kind, base);
            elements.push(self.loaded(read.kind, op!(Ld.Global), &place));
        }
        let givens = self.givens.clone();
        let known = Values::new(state, &givens).with_inputs(&elements);
        let of = |variable: u32| known.of(variable).clone();
        let steps = subject.accumulators.iter().map(|own| (own.step.clone(), own.sort));
        let steps: Vec<(Shared, Sort)> = steps.collect();
        let new = self.terms(&steps, &of);
        self.assign(state, &new);
        if !outputs.is_empty() {
            self.results(state, outputs, &index);
        }
        self.block.put(op!(Add.U32), &[&index, &index, &1]);
        self.block.put(op!(Bra), &[&label]);
        self.block.text.push_str(&format!("{label}_DONE:\n"));
    }
}

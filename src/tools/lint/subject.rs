//! One function as rules see it.

use rustc_hash::FxHashMap;

use super::report::Finding;
use super::rule::{Level, Rule};
use crate::cfg::{Arg, BlockId, Flow, Inst, InstId, LoopId, RegisterId};
use crate::emulate::{Access, Effect, KernelTrace, SymbolKind, definitions};
use crate::expr::{Node, SymbolId, TermId};
use crate::pipeline::architecture_of;
use crate::ptx::{Function, Module, StateSpace};
use crate::report::Origins;
use crate::source::SourceFile;
use crate::traffic::{self, AccessTraffic, Request, Stride, Traffic};

/// A function with everything that is known of it.
pub(super) struct Subject<'a, 'm, 's> {
    /// The text.
    pub source: &'a SourceFile,
    /// The compute capability that the text is for, 80 for `sm_80`.
    pub architecture: Option<u32>,
    /// The function.
    pub function: &'a Function<'s>,
    /// Its control flow.
    pub flow: &'a Flow<'m, 's>,
    /// Its trace.
    pub trace: &'a KernelTrace,
    /// The costs of its accesses.
    pub traffic: &'a Traffic,
    /// Where its instructions were compiled from.
    pub origins: &'a Origins<'s, 's>,
    /// The instruction that writes a register, where one alone does.
    single: FxHashMap<RegisterId, InstId>,
}

/// A finding of a rule at an instruction.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The rule.
    pub rule: Rule,
    /// How much it matters.
    pub level: Level,
    /// The instruction.
    pub inst: InstId,
    /// The fact.
    pub message: String,
    /// More about the place.
    pub label: Option<String>,
    /// What to do.
    pub help: String,
    /// Sectors or wavefronts too many.
    pub waste: u32,
}

impl<'a, 'm, 's> Subject<'a, 'm, 's> {
    /// A function of a module. `places`: the text and where its instructions were compiled from.
    pub(super) fn new(
        (source, origins): (&'a SourceFile, &'a Origins<'s, 's>),
        (module, function): (&Module<'s>, &'a Function<'s>),
        flow: &'a Flow<'m, 's>,
        (trace, traffic): (&'a KernelTrace, &'a Traffic),
    ) -> Subject<'a, 'm, 's> {
        let mut writes: FxHashMap<RegisterId, (InstId, u32)> = FxHashMap::default();
        for (at, inst) in flow.insts.iter_enumerated() {
            for register in definitions(inst) {
                writes.entry(register).or_insert((at, 0)).1 += 1;
            }
        }
        // (Each is looked up by its register.)
        let single = writes.into_iter().filter(|(_, (_, count))| *count == 1);
        let single = single.map(|(register, (at, _))| (register, at)).collect();
        let architecture = module.target.iter().find_map(|word| architecture_of(word));
        Subject { source, architecture, function, flow, trace, traffic, origins, single }
    }

    /// An instruction.
    pub(super) fn inst(&self, at: InstId) -> &Inst<'m, 's> {
        &self.flow.insts[at]
    }

    /// The only instruction that writes a register.
    pub(super) fn definition(&self, register: RegisterId) -> Option<InstId> {
        self.single.get(&register).copied()
    }

    /// The only instruction that writes the register that an operand names.
    pub(super) fn definition_of(&self, arg: &Arg<'_>) -> Option<InstId> {
        match arg {
            Arg::Register(register) => self.definition(*register),
            _ => None,
        }
    }

    /// The trace's record of an access.
    pub(super) fn access(&self, traffic: &AccessTraffic) -> &'a Access {
        &self.trace.accesses[traffic.index]
    }

    /// The 1-based line of an instruction.
    pub(super) fn line(&self, at: InstId) -> u32 {
        self.source.line(self.inst(at).ast.span.start)
    }

    /// The first instruction of a 1-based line.
    pub(super) fn at_line(&self, line: u32) -> Option<InstId> {
        self.flow.insts.keys().find(|&at| self.line(at) == line)
    }

    /// Where an instruction is, for sentences: the source line where it is known, the PTX line otherwise.
    pub(super) fn place(&self, at: InstId) -> String {
        match self.origins.at(self.inst(at).ast.span) {
            Some(origin) => origin.short(),
            None => format!("line {}", self.line(at)),
        }
    }

    /// The block that holds an instruction, if a way leads to it.
    pub(super) fn block_of(&self, at: InstId) -> Option<BlockId> {
        self.flow.block_ids().find(|&id| self.flow.block(id).instructions().contains(&at))
    }

    /// The innermost loop around an instruction.
    pub(super) fn loop_of(&self, at: InstId) -> Option<LoopId> {
        self.block_of(at).and_then(|block| self.flow.loops.innermost(block))
    }

    /// A term in infix, parameters by their short names.
    pub(super) fn term(&self, term: TermId) -> String {
        traffic::term(self.function, self.flow, self.trace, term)
    }

    /// A stride as text; none for a number.
    pub(super) fn stride(&self, traffic: &AccessTraffic) -> Option<String> {
        self.request(traffic).stride
    }

    /// The numbers of an access.
    pub(super) fn request(&self, traffic: &AccessTraffic) -> Request {
        Request::of(self.function, self.flow, self.trace, traffic)
    }

    /// The parameters in a stride, in words: "m is parameter 4".
    pub(super) fn parameters(&self, traffic: &AccessTraffic) -> Vec<String> {
        let Some(Stride::Symbolic(parts)) = &traffic.stride else { return Vec::new() };
        let mut said = Vec::new();
        for &term in parts.iter().flat_map(|(_, factor)| factor) {
            let Some(symbol) = self.symbol(self.trace.plain(term)) else { continue };
            let SymbolKind::Parameter { name, .. } = &self.trace.symbols.info(symbol).kind else {
                continue;
            };
            let named = |param: &crate::ptx::Variable<'_>| {
                param.names.first().is_some_and(|first| first.name.text == name)
            };
            if let Some(at) = self.function.params.iter().position(named) {
                let (name, number) = (self.term(term), at + 1);
                // (Compilers number parameters from 0 on.)
                said.push(match name == format!("param_{at}") {
                    true => format!("{name}: the {}", ordinal(number)),
                    false => format!("{name} = parameter {number}"),
                });
            }
        }
        said.sort();
        said.dedup();
        said
    }

    /// The symbol that a term is.
    pub(super) fn symbol(&self, term: TermId) -> Option<SymbolId> {
        match *self.trace.arena.node(term) {
            Node::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// The pointer parameter that an address begins with, if there is one alone.
    pub(super) fn pointer(&self, access: &Access) -> Option<SymbolId> {
        let (_, addends) = self.trace.arena.linear_parts(access.address?);
        let mut all = addends.iter().filter_map(|&(term, times)| {
            let symbol = self.symbol(term).filter(|_| times == 1)?;
            let kind = &self.trace.symbols.info(symbol).kind;
            let wide = self.trace.arena.width(term) == 64;
            (wide && matches!(kind, SymbolKind::Parameter { .. })).then_some(symbol)
        });
        let first = all.next()?;
        all.next().is_none().then_some(first)
    }

    /// Whether an instruction of the trace may order or publish accesses of other threads, or do anything.
    pub(super) fn synchronises(access: &Access) -> bool {
        let plain = matches!(access.effect, Effect::Load | Effect::Store);
        !plain || access.strong.is_some()
    }

    /// Whether an access reads or writes global memory, as far as its instruction says.
    pub(super) fn is_global(access: &Access) -> bool {
        matches!(access.space, StateSpace::Global | StateSpace::Generic)
    }
}

/// "1st parameter", "2nd parameter", "13th parameter".
fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending} parameter")
}

/// The findings of one rule for one line of a source as one: the worst, with the number of all.
pub(super) fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    let mut places: FxHashMap<(Rule, String, u32), usize> = FxHashMap::default();
    for finding in findings {
        let Some(origin) = &finding.source else {
            out.push(finding);
            continue;
        };
        let at =
            *places.entry((finding.rule, origin.file.clone(), origin.line)).or_insert(out.len());
        match out.get_mut(at) {
            Some(known) => known.join(finding),
            None => out.push(finding),
        }
    }
    out
}

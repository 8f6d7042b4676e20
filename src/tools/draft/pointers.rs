//! Which parts of the parameters are pointers: those that addresses of the trace begin with.

use std::collections::{BTreeMap, BTreeSet};

use super::parameters::{Parameter, like};
use crate::emulate::{KernelTrace, LaneDependence, SymbolKind};
use crate::expr::{Node, TermId};
use crate::launch::Type;
use crate::ptx::StateSpace;

/// A part of a parameter: the parameter's number and the offset in bytes.
pub(super) type Part = (usize, u64);

/// The uses of a pointer.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    /// How many accesses are of each type, in the order of the text.
    types: Vec<(Type, usize)>,
    /// Whether values that are read through the pointer lead to other addresses.
    pub indexes: bool,
    /// Whether an address of the trace begins with it.
    pub traced: bool,
}

impl Use {
    /// The type of most accesses.
    pub(super) fn ty(&self) -> Type {
        let most = self.types.iter().rev().max_by_key(|(_, count)| *count);
        most.map_or(Type::F32, |(ty, _)| *ty)
    }
}

/// The pointers of a kernel.
#[derive(Debug, Default)]
pub(super) struct Pointers {
    /// Each with its use.
    pub found: BTreeMap<Part, Use>,
    /// The parameters' names in the trace, with their numbers.
    names: BTreeMap<String, usize>,
}

impl Pointers {
    /// The pointers by the text alone.
    pub(super) fn of_text(parameters: &[Parameter]) -> Pointers {
        let names = parameters.iter().enumerate().map(|(i, p)| (p.name.clone(), i)).collect();
        let mut found = BTreeMap::new();
        for (index, parameter) in parameters.iter().enumerate() {
            for (&at, part) in &parameter.parts {
                if part.pointer {
                    found.insert((index, at), Use::default());
                }
            }
        }
        Pointers { found, names }
    }

    /// The pointers by the text and the trace.
    pub(super) fn of_trace(parameters: &[Parameter], trace: &KernelTrace) -> Pointers {
        let mut all = Pointers::of_text(parameters);
        let certain: BTreeSet<Part> = all.found.keys().copied().collect();
        for access in &trace.accesses {
            let Some(address) = access.address else { continue };
            for read in loads_below(trace, address) {
                let mut bases = BTreeSet::new();
                all.bases(trace, read, &mut bases);
                for base in bases {
                    all.found.entry(base).or_default().indexes = true;
                }
            }
            if !matches!(access.space, StateSpace::Global | StateSpace::Generic) {
                continue;
            }
            let mut bases = BTreeSet::new();
            all.bases(trace, address, &mut bases);
            if bases.iter().any(|base| certain.contains(base)) {
                bases.retain(|base| certain.contains(base));
            }
            let ty = access.ty.and_then(like);
            for base in bases {
                let uses = all.found.entry(base).or_default();
                uses.traced = true;
                let Some(ty) = ty else { continue };
                match uses.types.iter_mut().find(|(known, _)| *known == ty) {
                    Some((_, count)) => *count += 1,
                    None => uses.types.push((ty, 1)),
                }
            }
        }
        all
    }

    /// Untyped accesses are taken for floating-point numbers in a kernel that computes with such;
    /// `computes` tells whether it does.
    pub(super) fn name_bits(&mut self, computes: &dyn Fn(Type) -> bool) {
        for uses in self.found.values_mut().filter(|uses| !uses.indexes) {
            for (ty, _) in &mut uses.types {
                let floats: &[Type] = match ty {
                    Type::B16 => &[Type::Bf16, Type::F16],
                    Type::B32 => &[Type::F32],
                    Type::B64 => &[Type::F64],
                    _ => &[],
                };
                *ty = floats.iter().copied().find(|&float| computes(float)).unwrap_or(*ty);
            }
        }
    }

    /// The part of a parameter that a symbol of the trace stands for.
    pub(super) fn part(&self, kind: &SymbolKind) -> Option<Part> {
        let SymbolKind::Parameter { name, offset, .. } = kind else { return None };
        Some((*self.names.get(name)?, u64::try_from(*offset).ok()?))
    }

    /// The parts that an address begins with: 64 bits wide and added once, over all ways.
    fn bases(&self, trace: &KernelTrace, address: TermId, found: &mut BTreeSet<Part>) {
        let (mut seen, mut open) = (BTreeSet::new(), vec![address]);
        while let Some(term) = open.pop() {
            trace.arena.charge(1);
            if !seen.insert(term) {
                continue;
            }
            match trace.arena.node(term) {
                Node::Symbol(symbol) => {
                    let info = trace.symbols.info(*symbol);
                    if let (Some(part), 64) = (self.part(&info.kind), info.width) {
                        found.insert(part);
                    } else if let LaneDependence::DependsOn(terms) = &info.dependence {
                        open.extend(terms);
                    }
                }
                Node::Sum { addends, .. } => {
                    open.extend(addends.iter().filter(|(_, times)| *times == 1).map(|(t, _)| *t));
                }
                Node::IfThenElse(_, a, b) => open.extend([*a, *b]),
                _ => {}
            }
        }
    }
}

/// The addresses of the loads whose results a term depends on.
fn loads_below(trace: &KernelTrace, term: TermId) -> Vec<TermId> {
    let (mut seen, mut open, mut found) = (BTreeSet::new(), vec![term], Vec::new());
    while let Some(term) = open.pop() {
        trace.arena.charge(1);
        if !seen.insert(term) {
            continue;
        }
        if let Node::Apply(function, arguments) = trace.arena.node(term)
            && trace.symbols.is_load(*function)
        {
            found.extend(arguments.get(1));
        }
        if let Node::Symbol(symbol) = trace.arena.node(term)
            && let LaneDependence::DependsOn(terms) = &trace.symbols.info(*symbol).dependence
        {
            open.extend(terms);
        }
        open.extend(trace.arena.operands(term));
    }
    found
}

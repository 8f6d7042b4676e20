//! Operators that take one instruction for each accumulator to combine a warp: `redux.sync` for integers of 32 bits,
//! `vote.sync` for booleans (PTX ISA, "Parallel Synchronization and Communication Instructions").

use super::{Code, OLDEST};
use crate::isa::ScalarType;
use crate::ptx::write::{Op as Instruction, op};
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{Op, RIGHT, Term};

/// The first architecture that has `redux.sync`.
pub(super) const REDUX: u32 = 80;

/// How the values that all lanes have of one accumulator are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Collective {
    /// The sum, the least or the greatest, modulo 2^32.
    Redux(Op),
    /// Whether it holds in all lanes, or in any.
    Vote(Op),
}

impl Collective {
    /// The instruction, for a value of this type.
    pub(super) fn instruction(self, ty: ScalarType) -> Instruction {
        match self {
            Collective::Redux(Op::Add) => op!(Redux.Sync.Add.(ty)),
            Collective::Redux(Op::Min) => op!(Redux.Sync.Min.(ty)),
            Collective::Redux(_) => op!(Redux.Sync.Max.(ty)),
            Collective::Vote(Op::And) => op!(Vote.Sync.All.Pred),
            Collective::Vote(_) => op!(Vote.Sync.Any.Pred),
        }
    }

    /// The oldest architecture that has the instructions of all.
    pub(super) fn architecture(all: &[Collective]) -> u32 {
        let redux = all.iter().any(|one| matches!(one, Collective::Redux(_)));
        if redux { REDUX } else { OLDEST }
    }

    /// The function of CUDA.
    pub(super) fn intrinsic(self) -> &'static str {
        match self {
            Collective::Redux(Op::Add) => "__reduce_add_sync",
            Collective::Redux(Op::Min) => "__reduce_min_sync",
            Collective::Redux(_) => "__reduce_max_sync",
            Collective::Vote(Op::And) => "__all_sync",
            Collective::Vote(_) => "__any_sync",
        }
    }
}

impl Code<'_> {
    /// The operators of a state of nothing but booleans whose scan is a ballot for each, `&&` or `||`.
    pub(super) fn ballots(&self) -> Option<Vec<Op>> {
        let of = |one: Collective| match one {
            Collective::Vote(op) => Some(op),
            Collective::Redux(_) => None,
        };
        self.collectives()?.into_iter().map(of).collect()
    }

    /// How a warp combines each accumulator by one instruction; `None` if it does not for one of them.
    pub(super) fn collectives(&self) -> Option<Vec<Collective>> {
        let terms = self.found.combine.iter().enumerate();
        terms.map(|(at, term)| self.collective_of(at, term)).collect()
    }

    /// The same for one accumulator, whose value behind two lists is this term: nothing but its own two values under an
    /// operator for which their order is the same to all.
    fn collective_of(&self, at: usize, term: &Term) -> Option<Collective> {
        let Term::Binary(op, a, b) = term else { return None };
        let (Term::Variable(a), Term::Variable(b)) = (&**a, &**b) else { return None };
        let own = at as u32;
        if ![(own, RIGHT | own), (RIGHT | own, own)].contains(&(*a, *b)) {
            return None;
        }
        match (op, self.accumulated(at)) {
            (Op::Add | Op::Min | Op::Max, Kind::Signed(32) | Kind::Unsigned(32)) => {
                Some(Collective::Redux(*op))
            }
            (Op::And | Op::Or, Kind::Boolean) => Some(Collective::Vote(*op)),
            _ => None,
        }
    }
}

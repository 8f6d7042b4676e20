//! Puts the induction variables into everything that was recorded: the last step of an emulation.

use rustc_hash::FxHashMap;

use super::branches::Branches;
use super::state::State;
use super::symbols::{LaneDependence, Symbols};
use super::trace::KernelTrace;
use super::uniform::{self, Beliefs};
use crate::expr::{Arena, Substitution, SymbolId, TermId};

/// Replaces loop values by the induction variables that they turned out to be.
struct Resolver<'r> {
    resolved: &'r FxHashMap<SymbolId, TermId>,
    substitution: Substitution,
}

impl Resolver<'_> {
    fn resolve(&mut self, arena: &mut Arena, term: &mut TermId) {
        *term = self.substitution.apply(arena, *term, &mut |_, symbol, symbol_term| {
            self.resolved.get(&symbol).copied().unwrap_or(symbol_term)
        });
    }

    fn resolve_all<'t>(
        &mut self,
        arena: &mut Arena,
        terms: impl IntoIterator<Item = &'t mut TermId>,
    ) {
        terms.into_iter().for_each(|term| self.resolve(arena, term));
    }

    /// An induction variable never appears in a resolved term; the symbols that feed it do.
    fn resolve_feeds(&mut self, arena: &mut Arena, symbols: &mut Symbols) {
        let fed: Vec<(SymbolId, Vec<TermId>)> = symbols
            .iter()
            .filter_map(|(id, info)| match &info.dependence {
                LaneDependence::DependsOn(feeds) => Some((id, feeds.clone())),
                _ => None,
            })
            .collect();
        for (id, mut feeds) in fed {
            self.resolve_all(arena, &mut feeds);
            symbols.set_dependence(id, LaneDependence::DependsOn(feeds));
        }
    }
}

/// The trace of a function whose blocks have all been visited; `resolved` are its induction variables.
pub(super) fn trace(
    state: State<'_, '_, '_>,
    branches: Branches,
    resolved: FxHashMap<SymbolId, TermId>,
) -> KernelTrace {
    let State { flow, registers, mut accesses, mut moved, .. } = state;
    let (mut widened, mut held, approximations) = (state.widened, state.held, state.approximations);
    let (mut arena, mut symbols) = (state.arena, state.symbols);
    let Branches { mut assumptions, mut conditions, reachable, .. } = branches;
    let mut resolver = Resolver { resolved: &resolved, substitution: Substitution::new() };
    for access in accesses.iter_mut().chain(&mut moved) {
        resolver.resolve_all(&mut arena, &mut access.address);
        resolver.resolve_all(&mut arena, &mut access.guard);
        resolver.resolve_all(&mut arena, access.values.iter_mut().flatten());
    }
    resolver.resolve_all(&mut arena, assumptions.iter_mut().chain(&mut conditions).flatten());
    resolver.resolve_all(&mut arena, widened.iter_mut().map(|widened| &mut widened.value));
    resolver.resolve_all(&mut arena, held.iter_mut().map(|held| &mut held.value));
    resolver.resolve_feeds(&mut arena, &mut symbols);
    let uniformity = uniform::solve(&arena, &symbols, flow, &conditions, &Beliefs::default());
    KernelTrace {
        arena,
        symbols,
        accesses,
        moved,
        assumptions,
        branches: conditions,
        reachable,
        widened,
        held,
        definitions: registers.into_counts(),
        induction: resolved,
        uniformity,
        approximations,
        warp_wide: state.warp_wide,
    }
}

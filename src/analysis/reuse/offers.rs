//! Proofs of what a search offers: whether a load may take its value from a candidate, and under which guards.

use super::alike::LaneClaim;
use super::availability::RuntimeChecks;
use super::eligible::Load;
use super::legal_reuse::{Guards, LegalReuse};
use super::legality::Legality;
use super::pieces::pieces;
use super::prove::Proof;
use super::refusal::Refusal;
use super::sources::{Candidate, Offers};
use crate::emulate::KernelTrace;
use crate::lanes::agree_mostly;

/// How a source's bytes were proved to be those of a load.
struct Proved {
    proof: Proof,
    /// The bytes between the addresses that are compared at run time.
    address_delta: Option<i64>,
    /// The claims about registers that lanes have to satisfy.
    same_index: Vec<LaneClaim>,
}

/// The most stores between a source and a load that are compared with it at run time.
const MAX_ASKED: usize = 4;

impl Offers {
    /// Whether a load may take its value from a candidate, and under which guards.
    ///
    /// # Errors
    /// Why it may not.
    pub fn prove(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        candidate: Candidate,
        load: &Load,
    ) -> Result<LegalReuse, Refusal> {
        let key = (candidate, load.inst);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let found = self.look(legality, trace, candidate, load, false)?;
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// The same, each time anew. `asking`: also from a candidate that not all lanes have executed, since it stands in a
    /// branch, or behind which the lane may have stored to the same bytes: the legal reuse has the necessary checks at run
    /// time.
    ///
    /// # Errors
    /// Why the load may not take its value from there.
    pub fn look(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        candidate: Candidate,
        load: &Load,
        asking: bool,
    ) -> Result<LegalReuse, Refusal> {
        let Candidate { index, delta, displacement, .. } = candidate;
        let source = self.sources[index].load.clone();
        if delta != 0 {
            legality.may_send(trace, &source, load)?;
        }
        // (Both questions at once would be long chains of comparisons in large kernels.)
        let in_branch = asking && !legality.availability.is_before(trace, &source, load);
        let may_ask = asking
            && !in_branch
            && delta == 0
            && legality.linear != Some(false)
            && legality.is_copied(trace, &source);
        let mut runtime_checked = RuntimeChecks::up_to(if may_ask { MAX_ASKED } else { 0 });
        let mut source_executed = None;
        let (availability, prover) = (&mut legality.availability, &mut legality.prover);
        if in_branch {
            let since = availability.check_since(trace, prover, &source, load)?;
            source_executed = Some(since);
        } else {
            availability.check(trace, prover, &source, load, &mut runtime_checked)?;
        }
        if in_branch && delta != 0 && legality.never_whole(trace, &source) {
            return Err(Refusal::NeverRuns);
        }
        let no_alias_checks = runtime_checked.stores;
        let is_remembered = in_branch || !no_alias_checks.is_empty();
        let pieces = pieces(&source, load, displacement)
            .ok_or_else(|| Refusal::Elements(legality.availability.line(source.inst)))?;
        // (The predicate that remembers a source's execution includes its guard predicate.)
        let source_active =
            source.guard.filter(|_| !is_remembered && (delta != 0 || source.guard != load.guard));
        if let Some((register, _)) = source_active
            && !legality.prover.flow.visible(register, load.inst)
            && !planted!(Bug::GuardNotAsked)
        {
            return Err(Refusal::Guarded);
        }
        let Proved { proof, address_delta, same_index } =
            self.proved(legality, trace, candidate, &source, load)?;
        let mut no_wrap = proof.checks.to_vec();
        if planted!(Bug::WrapAround) {
            no_wrap.clear();
        }
        no_wrap.sort_unstable();
        no_wrap.dedup();
        let moves = delta != 0;
        let guards = Guards {
            // (The bytes that other lanes of the warp may have stored depend on the lane's place.)
            linear_lanes: (moves || !no_alias_checks.is_empty()) && legality.linear.is_none(),
            whole_warp: moves,
            no_wrap,
            source_active,
            source_executed,
            no_alias_checks,
            // If only one of the two is generic, the other one's address shows that it is global.
            global_address: source.generic && load.generic && !planted!(Bug::GenericAddress),
            address_delta,
            same_index,
        };
        Ok(LegalReuse { source: source.inst, pieces, delta, guards })
    }

    /// Proves that a source's bytes are those of a load, if need be under checks at run time.
    fn proved(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        Candidate { index, delta, displacement, in_rows }: Candidate,
        source: &Load,
        load: &Load,
    ) -> Result<Proved, Refusal> {
        if in_rows {
            let rows = self.sources[index].rows.as_ref().and_then(Option::as_ref);
            let (alike, _) = rows.ok_or(Refusal::NoPartner)?;
            let proof =
                legality.prover.prove_alike(trace, alike, (source, load), delta, displacement)?;
            return Ok(Proved {
                proof,
                address_delta: None,
                same_index: alike.runtime_checked.clone(),
            });
        }
        let (proof, address_delta) =
            match legality.prover.prove(trace, source, load, delta, displacement) {
                Ok(proof) => (proof, None),
                Err(refusal) => self
                    .tested(legality, trace, (index, source), load, delta, displacement)
                    .map(|(proof, bytes)| (proof, Some(bytes)))
                    .ok_or(refusal)?,
            };
        Ok(Proved { proof, address_delta, same_index: Vec::new() })
    }

    /// The distance in bytes, in one lane, that shows at run time that a load's address is the source's `delta` lanes
    /// further on; with the checks under which the source's addresses have that distance from each other. `B(L) = A(L)
    /// + bytes` and `A(L + delta) = A(L) + delta * stride`.
    fn tested(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        (index, source): (usize, &Load),
        load: &Load,
        delta: i32,
        displacement: i64,
    ) -> Option<(Proof, i64)> {
        let flow = legality.prover.flow;
        if !legality.is_copied(trace, source) || !legality.is_by_register(trace, load) {
            return None;
        }
        let place = legality.place(trace, load);
        let fingerprints = &mut legality.fingerprints;
        let own = fingerprints.number(trace, load.address, place);
        let other = *self.sources[index]
            .fingerprint
            .get_or_insert_with(|| fingerprints.number(trace, source.address, place));
        let (loops, shifter) = (&flow.loops, &legality.prover.shifter);
        let distance = (delta, displacement);
        let agree = fingerprints.compare([other, own], |other, own| {
            agree_mostly(trace, loops, shifter, (other, own), distance)
        });
        if !agree {
            return None;
        }
        if delta == 0 {
            return Some((Proof::default(), displacement));
        }
        let further = self.sources[index].stride?.checked_mul(i64::from(delta))?;
        let proof =
            legality.prover.prove_line(trace, source, load, delta, further.checked_neg()?).ok()?;
        Some((proof, further.checked_add(displacement)?))
    }
}

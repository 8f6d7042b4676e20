//! Parts of a rewrite: a kernel that lost something with all of its changes may lose nothing with some of them.
//!
//! In: the kernels of a text that lost something, and the [`Judges`], which rewrite them alone, each with a part of its
//! changes. Out: the kernels that lose nothing so; the text has these parts then. The texts with the parts are assembled at
//! the same time. Where ptxas refuses one, or it cannot be looked at, the part is not used. Calls with more than one
//! input are left out.

use crate::ptxas::examine::{Examined, Replacement};
use crate::ptxas::fate::{Fate, Original, fate};
use crate::ptxas::invoke::Finished;
use crate::ptxas::judges::Judges;
use crate::ptxas::leash::Leash;
use crate::ptxas::losses::Loss;
use crate::ptxas::rewritten::{Call, How, run_rewritten};
use crate::ptxas::signals::Folder;
use std::io;
use std::path::PathBuf;

/// Gives kernels that lost something a part of their changes where they lose nothing with it; returns their names.
pub(super) fn keep_parts<R: Replacement + Sync>(
    call: &Call<'_>,
    examined: &mut [Examined<R>],
    judges: &dyn Judges<R>,
    (original, folder, leash): (&Original, &Folder<'_>, &Leash),
    lost: &[Loss],
) -> Vec<String> {
    let [one] = examined else { return Vec::new() };
    let Some((source, rewritten)) = one.changed() else { return Vec::new() };
    let here =
        lost.iter().filter(|(name, _)| rewritten.knows(name) && !rewritten.is_measured(name));
    let here: Vec<Loss> = here.cloned().collect();
    if here.is_empty() {
        return Vec::new();
    }
    let parts = judges.parts(source, &here);
    let tried: Vec<Examined<R>> = parts.into_iter().map(|part| one.with(part)).collect();
    let runs = assemble(call, &tried, folder, leash);
    let mut kept: Vec<(R, Vec<String>)> = Vec::new();
    for ((part, tried), run) in tried.into_iter().enumerate().zip(runs) {
        let Ok((finished, beside)) = run else { continue };
        let Some((source, rewritten)) = tried.changed() else { continue };
        let slower = |bytes: &[u8], lost: &[Loss]| {
            judges.slower_part(part, source, rewritten, [&original.bytes, bytes], lost)
        };
        let fate = fate(original, (finished, &beside), &[], |_| false, slower);
        let names = here.iter().map(|(name, _)| name).filter(|name| rewritten.changes(name));
        let good: Vec<String> = match fate {
            Fate::Good(..) => names.cloned().collect(),
            Fate::Lost(still) => names
                .filter(|name| still.iter().all(|(known, _)| known != *name))
                .cloned()
                .collect(),
            Fate::Bad { .. } | Fate::Interrupted(_) => Vec::new(),
        };
        if let Some((_, Ok(rewritten))) = tried.outcome {
            kept.push((rewritten, good));
        }
    }
    let changed = judges.with_parts(source, rewritten, &kept, &here);
    let names = kept.into_iter().flat_map(|(_, names)| names);
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    one.outcome = one.outcome.take().map(|(source, _)| (source, Ok(changed)));
    names
}

/// How the assembling of each text ended, and its output file.
fn assemble<R: Replacement + Sync>(
    call: &Call<'_>,
    texts: &[Examined<R>],
    folder: &Folder<'_>,
    leash: &Leash,
) -> Vec<io::Result<(Finished, PathBuf)>> {
    let run = |part: usize, text: &Examined<R>| {
        let beside = folder.place(&format!("part{part}.cubin"))?;
        let how = How { output: Some(beside.as_os_str()), leash: Some(leash) };
        let mut write =
            |name: &str, bytes: &[u8]| folder.write(&format!("part{part}-{name}"), bytes);
        let finished = run_rewritten(call, std::slice::from_ref(text), &mut write, how)?;
        Ok((finished, beside))
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = texts
            .iter()
            .enumerate()
            .map(|(part, text)| {
                std::thread::Builder::new().spawn_scoped(scope, move || run(part, text))
            })
            .collect();
        let ended = started.into_iter().map(|thread| {
            let ended = thread.map(std::thread::ScopedJoinHandle::join)?;
            ended.unwrap_or_else(|_| Err(io::Error::other("panicked")))
        });
        ended.collect()
    })
}

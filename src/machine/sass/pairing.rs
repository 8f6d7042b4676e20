//! Which kernels of two builds belong together.
//!
//! In: the kernels of both, with their places as far as these are known. Out: pairs, the kernels of one build alone, and those
//! that may belong to each other in more than one way. Several files, or the code for several architectures, may have kernels of
//! one name. So kernels of one name are paired by architecture, and then by file: by its path, by its name, and by nothing
//! where the kernels of the two builds are in other files. Among several that are alike in that, the same machine code
//! belongs together, and so do two kernels that are left.

use std::collections::BTreeMap;

use super::resources::Resources;

/// A kernel of a build: where it is from, and its resources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Built {
    /// Its name, mangled.
    pub name: String,
    /// The file that it was compiled from, if it is known.
    pub file: Option<String>,
    /// Its architecture, 80 for `sm_80`, if it is known.
    pub architecture: Option<u32>,
    /// Its resources.
    pub resources: Resources,
}

/// The kernels of two builds, by their numbers there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairing {
    /// The names of the old and of the new kernels, with what tells a kernel from others of its name: the architecture, the
    /// file.
    pub names: [Vec<String>; 2],
    /// One of the old and one of the new build.
    pub pairs: Vec<(usize, usize)>,
    /// Kernels of the old build alone.
    pub only_old: Vec<usize>,
    /// Kernels of the new build alone.
    pub only_new: Vec<usize>,
    /// Kernels of both builds that may belong to each other, in more than one way.
    pub unclear: Vec<[Vec<usize>; 2]>,
}

/// What kernels of one name have in common to belong together, the strictest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Path,
    FileName,
    Name,
}

/// Whether kernels are told apart by architecture: all architectures are known, and a build has several. Builds for one
/// architecture each are compared whichever these are.
fn is_by_architecture(old: &[Built], new: &[Built]) -> bool {
    let is_one =
        |build: &[Built]| build.windows(2).all(|pair| pair[0].architecture == pair[1].architecture);
    let is_known = |kernel: &Built| kernel.architecture.is_some();
    old.iter().chain(new).all(is_known) && !(is_one(old) && is_one(new))
}

/// Pairs the kernels of two builds.
pub fn pair(old: &[Built], new: &[Built]) -> Pairing {
    let by_architecture = is_by_architecture(old, new);
    let mut groups: BTreeMap<(&str, Option<u32>), [Vec<usize>; 2]> = BTreeMap::new();
    for (side, build) in [old, new].into_iter().enumerate() {
        for (at, kernel) in build.iter().enumerate() {
            let architecture = kernel.architecture.filter(|_| by_architecture);
            groups.entry((&kernel.name, architecture)).or_default()[side].push(at);
        }
    }
    let names = [old, new].map(|build| build.iter().map(|kernel| kernel.name.clone()).collect());
    let mut pairing = Pairing { names, ..Pairing::default() };
    for ((_, architecture), mut rest) in groups {
        let is_one = rest.iter().all(|kernels| kernels.len() < 2);
        for (side, build) in [old, new].into_iter().enumerate() {
            for &at in &rest[side] {
                let name = &mut pairing.names[side][at];
                name.extend(architecture.map(|of| format!(" on sm_{of}")));
                let file = build[at].file.as_deref().filter(|_| !is_one);
                name.extend(file.map(|file| format!(" in {}", shown_file(file))));
            }
        }
        for level in [Level::Path, Level::FileName, Level::Name] {
            rest = pairing.add(level, rest, [old, new]);
        }
        let [old, new] = rest;
        pairing.only_old.extend(old);
        pairing.only_new.extend(new);
    }
    pairing
}

impl Pairing {
    /// Pairs kernels of one name; those without a counterpart at this level are left.
    fn add(
        &mut self,
        level: Level,
        kernels: [Vec<usize>; 2],
        builds: [&[Built]; 2],
    ) -> [Vec<usize>; 2] {
        let mut left = [Vec::new(), Vec::new()];
        let mut groups: BTreeMap<Option<String>, [Vec<usize>; 2]> = BTreeMap::new();
        for (side, kernels) in kernels.into_iter().enumerate() {
            for at in kernels {
                let file = builds[side][at].file.as_deref();
                let key = match level {
                    Level::Path => file.map(shown_file),
                    Level::FileName => file.map(|file| file_name(&shown_file(file)).to_owned()),
                    Level::Name => None,
                };
                match key.is_none() && level != Level::Name {
                    true => left[side].push(at),
                    false => groups.entry(key).or_default()[side].push(at),
                }
            }
        }
        for [mut old, mut new] in groups.into_values() {
            if old.is_empty() || new.is_empty() {
                left[0].extend(old);
                left[1].extend(new);
                continue;
            }
            // A file that one build alone has more than once may be a stale report beside the current one.
            let is_stale = level != Level::Name && old.len() < new.len();
            old.retain(|&before| {
                let same = |&after: &usize| {
                    let [a, b] = [&builds[0][before], &builds[1][after]];
                    a.resources.is_same_code(&b.resources) == Some(true)
                };
                let found = new.iter().position(same).map(|at| (before, new.remove(at)));
                self.pairs.extend(found);
                found.is_none()
            });
            match (&old[..], &new[..]) {
                ([old], [new]) if !is_stale => self.pairs.push((*old, *new)),
                ([], []) => {}
                (_, []) => left[0].extend(old),
                ([], _) if !is_stale => left[1].extend(new),
                _ => self.unclear.push([old, new]),
            }
        }
        left
    }
}

/// A file as users know it: nvcc puts `tmpxft_` and numbers in front of the name of the file that it compiles, into a folder
/// for temporary files.
fn shown_file(path: &str) -> String {
    let name = file_name(path);
    let own = name.strip_prefix("tmpxft_").and_then(|rest| rest.splitn(3, '_').nth(2));
    own.unwrap_or(path).to_owned()
}

/// The last component of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

//! A launch file to start from: facts about the arguments from a kernel's text and memory trace, and guesses for the
//! rest.
//!
//! In: a file and [`Wishes`]. Out: a [`Draft`], whose text is a launch file and
//! says in its `comment` what was guessed. Pointers are the parameters that addresses of the trace begin
//! with; buffers are as long as those addresses reach, and where that cannot be evaluated, as long as a
//! trial in the interpreter asked for. A draft is a start and no statement about the kernel: it may well
//! be a launch that its author never meant.
//!
//! `parameters`: the facts of the text about each parameter; `pointers`: which of them addresses begin with;
//! `bounds`: how far addresses reach; `guards`: which parameters are compared with a thread's number; [`plan`]: the
//! launch, and its text; `trial`: the plan made to run.

mod bounds;
mod guards;
mod known;
mod parameters;
pub mod plan;
mod pointers;
mod trial;

use std::collections::BTreeMap;

use crate::expr::within;
use crate::isa::multiprocessor::Multiprocessor;
use crate::launch::bind;
use crate::pipeline::{self, Options};
use crate::ptx::{self, Depth, Function, Module, StateSpace};
use crate::source::{Diagnostic, SourceFile};
use bounds::{Chosen, Shape};
use known::Known;
use parameters::parameters;
use pointers::Pointers;

pub use trial::Draft;

/// The user's wishes for a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// The kernel; the only one if none is named.
    pub kernel: Option<&'a str>,
    /// About how many threads the launch has in all.
    pub threads: Option<u64>,
    /// The threads of a block along x, y and z.
    pub block: Option<[u32; 3]>,
    /// Blocks along each axis whose `%ctaid` the kernel reads, unless `threads` says otherwise; 2 if not given.
    pub blocks: Option<u32>,
    /// Whether sizes are multiples of the block, as for timing; otherwise the last block is partial.
    pub whole_blocks: bool,
    /// Whether integers in buffers repeat, so that several threads get the same index.
    pub repeats: bool,
    /// Whether small sizes may avoid races and unwritten values; otherwise these are a result of the draft.
    pub avoids_races: bool,
}

/// Drafts a launch of a kernel.
///
/// # Errors
/// The file cannot be parsed, or has no such kernel, or the kernel cannot have such blocks.
pub fn draft(
    source: &SourceFile,
    wishes: &Wishes<'_>,
) -> Result<Result<Draft, String>, Diagnostic> {
    let module = ptx::parse(source, Depth::All)?;
    let checked = bind::find_kernel(&module, wishes.kernel)
        .and_then(|function| possible(function, wishes.block).map(|()| function));
    let function = match checked {
        Ok(function) => function,
        Err(why) => return Ok(Err(why)),
    };
    let name = function.name.text;
    let options = Options { kernel: Some(name.to_owned()), ..Options::default() };
    let mut drafted = None;
    let floats = parameters::floats(function);
    pipeline::for_each_trace(source, &options, &mut |_, traced| {
        let parameters = parameters(function);
        let (flow, trace) = match traced {
            Ok((flow, trace)) => (flow, &*trace),
            Err(why) => {
                let known = Known {
                    kernel: name,
                    shape: shape(function, wishes, &[true, false, false, true, false, false]),
                    pointers: Pointers::of_text(&parameters),
                    parameters,
                    guards: BTreeMap::new(),
                    whole_blocks: wishes.whole_blocks,
                    repeats: wishes.repeats,
                    avoids_races: wishes.avoids_races,
                    dynamic_shared: dynamic_shared(source, &module, function),
                    most_shared: most_shared(&module),
                    most_threads: most_threads(function),
                    untraced: Some(why),
                };
                drafted = Some(trial::tried(source, &module, &known, |_, _| Vec::new()));
                return;
            }
        };
        let pointers = within(|| Pointers::of_trace(&parameters, trace));
        let mut pointers = pointers.unwrap_or_else(|_| Pointers::of_text(&parameters));
        pointers.name_bits(&|ty| floats.contains(&ty));
        let known = Known {
            kernel: name,
            shape: shape(function, wishes, &bounds::axes(trace)),
            guards: within(|| guards::guards(trace, &pointers)).unwrap_or_default(),
            pointers,
            parameters,
            whole_blocks: wishes.whole_blocks,
            repeats: wishes.repeats,
            avoids_races: wishes.avoids_races,
            dynamic_shared: dynamic_shared(source, &module, function),
            most_shared: most_shared(&module),
            most_threads: most_threads(function),
            untraced: None,
        };
        drafted = Some(trial::tried(source, &module, &known, |shape, values| {
            bounds::reached(flow, trace, shape, &known.pointers, values)
        }));
    })?;
    Ok(drafted.ok_or_else(|| format!("`{name}` has no body")))
}

/// Bytes of dynamic shared memory where a module declares some: two thirds of the default limit of every device, since
/// static arrays take their part.
const DYNAMIC_SHARED: u64 = 32 << 10;

/// Dynamic shared memory is an array of unknown size. Only kernels have some that name the array, or that call functions,
/// which may.
fn dynamic_shared(source: &SourceFile, module: &Module<'_>, kernel: &Function<'_>) -> u64 {
    let text = source.slice(kernel.span);
    let calls = words(text).any(|word| word == "call" || word.starts_with("call."));
    let extern_array = |item: &ptx::Item<'_>| match item {
        ptx::Item::Variable(variable) => {
            let dynamic =
                variable.space == StateSpace::Shared && variable.linkage.contains(&".extern");
            let named = |name: &str| words(text).any(|word| word == name);
            dynamic && (calls || variable.names.iter().any(|found| named(found.name.text)))
        }
        _ => false,
    };
    if module.items.iter().any(extern_array) { DYNAMIC_SHARED } else { 0 }
}

/// The names and instructions of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    text.split(move |c: char| !in_word(c)).filter(|word| !word.is_empty())
}

/// The most shared memory that a block may have on the module's architecture; of an unknown one, the limit of every
/// device.
fn most_shared(module: &Module<'_>) -> u64 {
    let targets = module.target.iter();
    let architecture = targets.filter_map(|name| pipeline::architecture_of(name)).next();
    let multiprocessor = architecture.and_then(Multiprocessor::of);
    multiprocessor.map_or(48 << 10, |multiprocessor| multiprocessor.most_shared().into())
}

/// The most threads of a kernel's blocks.
fn most_threads(kernel: &Function<'_>) -> u64 {
    kernel.most_threads().unwrap_or(1024).min(1024)
}

/// Grid and block: by `.reqntid` and `.maxntid`, and along the axes that the kernel reads: `%tid.x` to
/// `%tid.z`, `%ctaid.x` to `%ctaid.z`.
fn shape(kernel: &Function<'_>, wishes: &Wishes<'_>, axes: &[bool; 6]) -> Shape {
    let used = |axis: usize| axes[axis] || axes[3 + axis];
    let most = most_threads(kernel);
    let deep = 1 + (1..3).filter(|&axis| used(axis)).count();
    let (demanded, at_most) = (kernel.extents("reqntid"), kernel.extents("maxntid"));
    let (mut block, chosen) = match (demanded, wishes.block) {
        (Some(demanded), _) => (demanded.map(|extent| extent as u32), Chosen::Demanded),
        (None, Some(asked)) => (asked, Chosen::Asked),
        _ if deep == 1 && at_most.is_some() => ([most as u32, 1, 1], Chosen::Guessed),
        _ => {
            let usual = if deep == 1 { 128 } else { 32 };
            let other = |axis: usize| match (axes[axis], deep) {
                (true, 2) => 4,
                (true, 3) => 2,
                _ => 1,
            };
            ([usual, other(1), other(2)], Chosen::Guessed)
        }
    };
    let guessed = chosen == Chosen::Guessed;
    while guessed && block.iter().map(|&n| u64::from(n)).product::<u64>() > most {
        let widest = (0..3).max_by_key(|&axis| block[axis]).unwrap_or(0);
        block[widest] = (block[widest] / 2).max(1);
    }
    let mut grid =
        [0, 1, 2].map(|axis| if axes[3 + axis] { wishes.blocks.unwrap_or(2) } else { 1 });
    if let Some(threads) = wishes.threads {
        let others: u64 = [1, 2].map(|axis| u64::from(block[axis] * grid[axis])).iter().product();
        let along = threads.div_ceil(others.max(1)).max(1);
        if guessed {
            block[0] = u64::from(block[0]).min(along) as u32;
        }
        grid[0] = along.div_ceil(u64::from(block[0])).min(u64::from(u32::MAX >> 1)) as u32;
    }
    for (blocks, cluster) in grid.iter_mut().zip(bind::cluster(kernel)) {
        *blocks = blocks.next_multiple_of(cluster.min(64) as u32);
    }
    Shape { grid, block, chosen }
}

/// Whether a kernel's directives allow blocks of this shape.
fn possible(kernel: &Function<'_>, block: Option<[u32; 3]>) -> Result<(), String> {
    let Some(block) = block else { return Ok(()) };
    let [x, y, z] = block;
    if let Some(demanded @ [a, b, c]) = kernel.extents("reqntid")
        && demanded != block.map(u64::from)
    {
        return Err(format!("a block of {x}x{y}x{z}: `.reqntid` demands {a}x{b}x{c}"));
    }
    let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
    match kernel.most_threads() {
        Some(most) if threads > most => {
            Err(format!("a block of {x}x{y}x{z}: the kernel allows at most {most} threads"))
        }
        _ => Ok(()),
    }
}

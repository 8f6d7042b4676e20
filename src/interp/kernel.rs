//! A kernel that was decoded, to be launched any number of times; and launches of it that go abreast.
//!
//! In: a module and launches. Out: what launches leave, as [`super::run`] tells it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::counters::{Counters, Total};
use super::exec::{self, Follow, Machine, Plan, Room, Row, Sheet};
use super::fault::{Fault, FaultKind};
use super::memory::{Global, new_words};
use super::program::Program;
use super::{Outcome, decode};
use crate::launch::{Buffer, Launch, Meet, bind};
use crate::ptx::{Function, Module};

/// Bytes of the device heap: the value of `cudaLimitMallocHeapSize` unless a program changes it.
const HEAP_BYTES: usize = 8 << 20;

/// A kernel that was decoded.
#[derive(Debug)]
pub struct Kernel<'m, 's> {
    function: &'m Function<'s>,
    dynamic_shared: u64,
    random: bool,
    pub(super) program: Program,
}

impl<'m, 's> Kernel<'m, 's> {
    /// Decodes the kernel of a launch; others may differ from it in everything but the kernel and the bytes of dynamic
    /// shared memory. With `random` they may let lanes meet at random.
    ///
    /// # Errors
    /// The launch does not fit the kernel, or the kernel uses something that is not modelled.
    pub fn new(
        module: &'m Module<'s>,
        launch: &Launch,
        random: bool,
    ) -> Result<Kernel<'m, 's>, Fault> {
        let function =
            bind::find_kernel(module, launch.kernel.as_deref()).map_err(Fault::launch)?;
        check_cluster(function)?;
        bind::check_shape(function, launch).map_err(Fault::launch)?;
        let dynamic_shared = launch.dynamic_shared;
        let random = random || matches!(launch.meet, Meet::Random(_));
        let program = decode::decode(module, function, dynamic_shared, random)?;
        Ok(Kernel { function, dynamic_shared, random, program })
    }

    /// Runs a launch of the kernel.
    ///
    /// # Errors
    /// As [`super::run`], and if the kernel was decoded for other launches.
    pub fn run(&self, launch: &Launch) -> Result<Outcome, Fault> {
        self.check(launch)?;
        let (outcome, _) = self.execute::<Counters, _>(launch, |counters, _| (*counters, ()))?;
        Ok(outcome)
    }

    fn check(&self, launch: &Launch) -> Result<(), Fault> {
        let other = launch.kernel.as_deref().is_some_and(|name| name != self.function.name.text);
        let random = matches!(launch.meet, Meet::Random(_)) && !self.random;
        if other || random || launch.dynamic_shared != self.dynamic_shared {
            return Err(Fault::launch("the kernel was decoded for other launches".to_owned()));
        }
        bind::check_shape(self.function, launch).map_err(Fault::launch)
    }

    /// Runs a launch whose shape was checked; `finish` turns the tally into the sum of all events and whatever else is
    /// wanted.
    pub(super) fn execute<C: Total + Follow, T>(
        &self,
        launch: &Launch,
        finish: impl Fn(&C, &Program) -> (Counters, T),
    ) -> Result<(Outcome, T), Fault> {
        let program = &self.program;
        let params = words(&self.parameters(launch)?);
        let (limit, races) = (launch.limit, launch.races);
        let mut global = self.fresh(launch)?;
        let machine = self.machine(launch, &global, &params);
        let executed = match exec::run_side_by_side::<C>(&machine, limit, races) {
            Some(executed) => executed,
            None => {
                global = self.fresh(launch)?;
                exec::run(&self.machine(launch, &global, &params), limit, races)?
            }
        };
        let kernel = self.function.name.text.to_owned();
        let buffers = self.buffers(launch, &global);
        let (counters, more) = finish(&executed.counters, program);
        let printed = executed.printed.into_values().collect();
        let statics = program.layout.statics.len();
        let regions = launch.buffers.keys().zip(&global.regions()[statics..]);
        let undetermined =
            regions.filter_map(|(name, region)| Some((name.clone(), region.poisoned()?))).collect();
        Ok((Outcome { kernel, buffers, counters, printed, undetermined }, more))
    }

    /// Global memory at the start.
    fn fresh(&self, launch: &Launch) -> Result<Global, Fault> {
        let heap_bytes = vec![0; if self.program.heap { HEAP_BYTES } else { 0 }];
        let buffers = launch.buffers.iter().map(|(name, b)| (name.as_str(), &b.bytes[..]));
        let heap = self.program.heap.then_some(("(heap)", &heap_bytes[..]));
        Global::new(&self.program.layout, buffers.chain(heap))
    }

    fn machine<'a>(
        &'a self,
        launch: &Launch,
        global: &'a Global,
        params: &'a [AtomicU32],
    ) -> Machine<'a> {
        let program = &self.program;
        let index = program.layout.statics.len() + launch.buffers.len();
        let bytes = if program.heap { HEAP_BYTES as u64 } else { 0 };
        Machine {
            program,
            global,
            grid: launch.grid,
            block: launch.block,
            params,
            meet: launch.meet,
            follows_poison: launch.uninitialized,
            heap: Mutex::new(exec::Heap::new(program.layout.region_base(index), bytes)),
        }
    }

    /// The buffers as a launch has left them.
    fn buffers(&self, launch: &Launch, global: &Global) -> BTreeMap<String, Buffer> {
        let statics = self.program.layout.statics.len();
        let regions = &global.regions()[statics..];
        let buffers = launch.buffers.iter().zip(regions);
        buffers
            .map(|((name, buffer), region)| {
                (name.clone(), Buffer { ty: buffer.ty, bytes: region.bytes() })
            })
            .collect()
    }

    /// The bytes of the kernel's parameters.
    fn parameters(&self, launch: &Launch) -> Result<Vec<u8>, Fault> {
        let program = &self.program;
        let parameters: Vec<(&str, u64)> =
            program.params.iter().map(|place| (&*place.name, place.size)).collect();
        bind::check_arguments(&parameters, launch).map_err(Fault::launch)?;
        let first_buffer = program.layout.statics.len();
        let mut bytes = vec![0; program.layout.param_bytes as usize];
        for (place, argument) in program.params.iter().zip(&launch.args) {
            let value = argument.bytes(place.size as usize, |buffer| {
                // (The launch was checked: the buffer exists.)
                let index = launch.buffers.keys().position(|name| name == buffer).unwrap_or(0);
                program.layout.region_base(first_buffer + index)
            });
            bytes[place.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        Ok(bytes)
    }
}

/// Words of memory with these bytes at first.
fn words(bytes: &[u8]) -> Vec<AtomicU32> {
    let words = new_words(bytes.len() as u64);
    for (word, chunk) in words.iter().zip(bytes.chunks(4)) {
        let mut raw = [0; 4];
        raw[..chunk.len()].copy_from_slice(chunk);
        word.store(u32::from_le_bytes(raw), Relaxed);
    }
    words
}

/// Checks that the kernel asks for clusters of one block, which is what every block is here.
fn check_cluster(kernel: &Function<'_>) -> Result<(), Fault> {
    match bind::cluster(kernel) {
        [1, 1, 1] => Ok(()),
        cluster => {
            let message = format!("clusters of {cluster:?} blocks are not modelled");
            Err(Fault::new(FaultKind::Unsupported, message).at(kernel.span))
        }
    }
}

/// Where 32 launches differ that go abreast.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// What buffers hold: for each word its value in each launch.
    pub buffers: BTreeMap<String, Vec<Row>>,
    /// The bytes of arguments that differ, by the argument's number and the launch.
    pub args: BTreeMap<usize, Vec<Vec<u8>>>,
}

impl Kernel<'_, '_> {
    /// A plan for launches of the kernel that differ in what buffers hold and in these arguments; none if branches or
    /// addresses may differ then, or the kernel does something that launches abreast cannot do.
    pub fn plan(&self, differ: &[usize]) -> Option<Plan> {
        let mut bytes = vec![false; self.program.layout.param_bytes as usize];
        for &number in differ {
            let place = self.program.params.get(number)?;
            bytes[place.offset as usize..][..place.size as usize].fill(true);
        }
        Plan::new(&self.program, bytes)
    }

    /// Runs launches of one block abreast, 32 for each of the columns. `launch` is the first; what all have in buffers,
    /// and in arguments that the plan was made for, stands in the columns, and there is what buffers hold afterwards. The
    /// events are those of the first launch. None if they could not go abreast or one of them may have been at fault: then
    /// each has to be run by itself.
    pub fn run_abreast(
        &self,
        plan: &Plan,
        launch: &Launch,
        columns: &mut [Columns],
        rooms: &mut [Room],
    ) -> Option<Counters> {
        self.check(launch).ok()?;
        let known = |columns: &Columns| launch.buffers.keys().eq(columns.buffers.keys());
        if launch.grid != [1; 3] || !columns.iter().all(known) || rooms.len() < columns.len() {
            return None;
        }
        let params = words(&self.parameters(launch).ok()?);
        let global = self.fresh(launch).ok()?;
        let fits = |columns: &Columns| {
            let mut regions = global.regions().iter().zip(columns.buffers.values());
            regions.all(|(region, rows)| region.len.div_ceil(4) as usize == rows.len())
        };
        if !columns.iter().all(fits) {
            return None;
        }
        let machine = self.machine(launch, &global, &params);
        let mut sheets = Vec::new();
        for (columns, room) in columns.iter_mut().zip(rooms) {
            let params = self.rows(&params, columns);
            let global = columns.buffers.values_mut().map(std::mem::take).collect();
            sheets.push(Sheet { room, global, params });
        }
        let done = exec::run_abreast(&machine, plan, &mut sheets, (launch.limit, launch.races));
        for (columns, sheet) in columns.iter_mut().zip(sheets) {
            columns.buffers.values_mut().zip(sheet.global).for_each(|(own, rows)| *own = rows);
        }
        let counters = done.ok()??;
        // The launch in front is among those behind, which has to be seen.
        let first = columns.first()?.buffers.values();
        let alike = global
            .regions()
            .iter()
            .zip(first)
            .all(|(region, rows)| region.words().zip(rows).all(|(word, row)| word == row[0]));
        alike.then_some(counters)
    }

    /// The words of the parameters of launches abreast.
    fn rows(&self, params: &[AtomicU32], columns: &Columns) -> Vec<Row> {
        let mut rows: Vec<Row> = params.iter().map(|word| [word.load(Relaxed); 32]).collect();
        for (&number, values) in &columns.args {
            let place = &self.program.params[number];
            for (launch, value) in values.iter().enumerate() {
                for (at, &byte) in (place.offset as usize..).zip(value) {
                    let word = &mut rows[at / 4][launch];
                    let shift = 8 * (at % 4);
                    *word = *word & !(0xff << shift) | u32::from(byte) << shift;
                }
            }
        }
        rows
    }
}

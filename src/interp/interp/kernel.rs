//! A kernel that was decoded, to be launched any number of times.
//!
//! In: a module and launches. Out: what launches leave, as [`super::run`] tells it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::alike::{Divisors, Launched, Observer, Trace};
use super::counters::{Counters, Total};
use super::exec::{self, Machine};
use super::fault::{Fault, FaultKind};
use super::memory::{Global, HostMemory, Region, new_words};
use super::program::Program;
use super::recorder::Recorder;
use super::symbol::World;
use super::{Outcome, decode};
use crate::launch::{Buffer, Launch, Meet, Type, bind};
use crate::ptx::{Function, Module};

/// Bytes of the device heap: the value of `cudaLimitMallocHeapSize` unless a program changes it.
const HEAP_BYTES: usize = 8 << 20;

/// The most warp-wide instructions of a run that is repeated for a better message; without the search for undetermined
/// values a kernel may run for ever.
const MAX_REPEATED: u64 = 1 << 24;

/// A kernel that was decoded.
#[derive(Debug)]
pub struct Kernel<'m, 's> {
    function: &'m Function<'s>,
    dynamic_shared: u64,
    random: bool,
    explains: bool,
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
        bind::check_shape(function, launch).map_err(Fault::launch)?;
        check_cluster(function)?;
        let dynamic_shared = launch.dynamic_shared;
        let random = random || matches!(launch.meet, Meet::Random(_));
        let program = decode::decode(module, function, dynamic_shared, random)?;
        Ok(Kernel { function, dynamic_shared, random, explains: true, program })
    }

    /// The same kernel, whose faults do not say which buffer an address was made from: that takes a second run.
    pub fn without_explanations(self) -> Kernel<'m, 's> {
        Kernel { explains: false, ..self }
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

    /// Runs a launch of the kernel on memory of the host, in place: blocks run in order, and what a faulting kernel has written
    /// stays. `host` is in ascending order; its addresses are those that the kernel sees. Returns the text that was printed.
    ///
    /// # Errors
    /// As [`Kernel::run`], and if the module's addresses have 32 bits.
    pub fn run_in_place(&self, launch: &Launch, host: &[HostMemory<'_>]) -> Result<String, Fault> {
        self.check(launch)?;
        let layout = &self.program.layout;
        if layout.region_limit() == 1 << 24 {
            return Err(Fault::launch("addresses of 32 bits do not reach memory of the host"));
        }
        let params = words(&self.parameters(launch)?);
        let global = self.fresh(launch)?.with_host(layout, host);
        let machine = self.machine(launch, &global, &params);
        let executed = exec::run::<Counters>(&machine, launch.limit, launch.races)?;
        Ok(executed.printed.into_values().collect())
    }

    fn check(&self, launch: &Launch) -> Result<(), Fault> {
        let own = [self.function.name.text];
        let is_other = |name| crate::kernels::meant(&own, name).is_empty();
        let other = launch.kernel.as_deref().is_some_and(is_other);
        let random = matches!(launch.meet, Meet::Random(_)) && !self.random;
        if other || random || launch.dynamic_shared != self.dynamic_shared {
            return Err(Fault::launch("the kernel was decoded for other launches".to_owned()));
        }
        bind::check_shape(self.function, launch).map_err(Fault::launch)
    }

    /// Runs a launch whose shape was checked; `finish` turns the tally into the sum of all events and whatever else is
    /// wanted.
    pub(super) fn execute<C: Total, T>(
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
                exec::run(&self.machine(launch, &global, &params), limit, races)
                    .map_err(|fault| self.written_later(launch, &params, &fault).unwrap_or(fault))
                    .map_err(|fault| self.explained(launch, &params, &fault).unwrap_or(fault))?
            }
        };
        let kernel = self.function.name.text.to_owned();
        let buffers = self.buffers(launch, &global);
        let variables = self.variables(launch, &global);
        let (counters, more) = finish(&executed.counters, program);
        let printed = executed.printed.into_values().collect();
        let statics = program.layout.statics.len();
        let regions = launch.buffers.keys().zip(&global.regions()[statics..]);
        let undetermined =
            regions.filter_map(|(name, region)| Some((name.clone(), region.poisoned()?))).collect();
        Ok((Outcome { kernel, buffers, variables, counters, printed, undetermined }, more))
    }

    /// Runs a launch and follows approximate values; returns the tally.
    pub(super) fn execute_marked<C: Total>(
        &self,
        launch: &Launch,
        recorder: &Arc<Recorder>,
    ) -> Result<C, Fault> {
        let params = words(&self.parameters(launch)?);
        let mut global = self.fresh(launch)?;
        global.regions_mut().iter_mut().for_each(|region| region.follow(false));
        let machine = Machine {
            follows_poison: true,
            recorder: Some(recorder),
            ..self.machine(launch, &global, &params)
        };
        Ok(exec::run::<C>(&machine, launch.limit, false)?.counters)
    }

    /// Runs some blocks of a launch; returns the buffers, and how many instructions were executed.
    pub(super) fn run_blocks(
        &self,
        launch: &Launch,
        blocks: &[u64],
    ) -> Result<(BTreeMap<String, Buffer>, u64), Fault> {
        let params = words(&self.parameters(launch)?);
        let global = self.fresh(launch)?;
        let machine = self.machine(launch, &global, &params);
        let blocks: Vec<u64> =
            blocks.iter().copied().filter(|&block| block < machine.blocks()).collect();
        let executed = exec::run_blocks::<Counters>(&machine, &blocks, launch.limit, launch.races)?;
        Ok((self.buffers(launch, &global), executed.steps))
    }

    /// Runs some blocks of a launch with symbols. Returns the regions, module variables first, how many instructions were
    /// executed, and with `divisors`, which earlier blocks have shown, what the blocks show of others; `inputs` are regions, and whether they hold symbols at first.
    pub(super) fn execute_with_symbols<C: Total>(
        &self,
        launch: &Launch,
        (world, inputs, races): (&World, &[(usize, bool)], bool),
        (blocks, divisors): (&[u64], Option<&Divisors>),
    ) -> Result<(Vec<Region<'static>>, u64, Option<Trace>), Fault> {
        let bytes = self.parameters(launch)?;
        let params = words(&bytes);
        let params_marks = new_words(4 * params.len() as u64);
        for (&index, ty) in &launch.symbolic_args {
            let Some(place) = self.program.params.get(index) else { continue };
            for byte in place.offset..place.offset + ty.bytes() as u64 {
                let word = &params_marks[(byte / 4) as usize];
                word.store(word.load(Relaxed) | 0xff << (8 * (byte % 4)), Relaxed);
            }
        }
        let mut global = self.fresh(launch)?;
        global.regions_mut().iter_mut().for_each(|region| region.follow(false));
        for &(region, symbolic) in inputs {
            global.regions_mut()[region].follow(symbolic);
        }
        let machine = Machine {
            follows_poison: true,
            world: Some(world),
            params_marks: Some(&params_marks),
            ..self.machine(launch, &global, &params)
        };
        let observer = divisors.map(|divisors| {
            let mut regions: Vec<(String, bool)> =
                global.regions().iter().map(|region| (region.name.clone(), false)).collect();
            inputs.iter().for_each(|&(region, is_symbolic)| regions[region].1 = is_symbolic);
            let special = |special| machine.constant(special).map(u64::from);
            let parameter = |offset: u64, size: u32| {
                let marked = |at: u64| params_marks[(at / 4) as usize].load(Relaxed) != 0;
                let own = offset..offset + u64::from(size);
                let known = bytes.get(own.start as usize..own.end as usize)?;
                let mut value = [0; 8];
                value.get_mut(..known.len())?.copy_from_slice(known);
                (!own.into_iter().any(marked)).then_some(u64::from_le_bytes(value))
            };
            let grid = launch.grid;
            let launched = Launched { special: &special, parameter: &parameter, grid, divisors };
            Observer::new(&self.program, regions, &launched)
        });
        let machine = Machine { observer: observer.as_ref(), ..machine };
        let executed = exec::run_blocks::<C>(&machine, blocks, launch.limit, races)
            .map_err(|fault| self.written_later(launch, &params, &fault).unwrap_or(fault))?;
        let trace = observer.map(Observer::trace);
        Ok((std::mem::take(global.regions_mut()), executed.steps, trace))
    }

    /// The race behind a fault: the launch is run again without the search for undetermined values, and some thread of
    /// the block writes the unwritten byte later, with nothing that orders it behind the read.
    fn written_later(&self, launch: &Launch, params: &[AtomicU32], fault: &Fault) -> Option<Fault> {
        let byte = fault.unwritten.filter(|_| launch.races)?;
        let global = self.fresh(launch).ok()?;
        let machine = self.machine(launch, &global, params);
        let machine = Machine { follows_poison: false, watched_byte: Some(byte), ..machine };
        let limit = launch.limit.min(MAX_REPEATED);
        let mut race = exec::run::<Counters>(&machine, limit, true).err()?;
        let meant = race.kind == FaultKind::Race && race.block == fault.block;
        race.message += " (when they were read, no thread had written them)";
        meant.then_some(race)
    }

    /// The same fault of an access with the buffer that its address was made from, and what has wrapped around: the launch
    /// is run again with a record of that.
    fn explained(&self, launch: &Launch, params: &[AtomicU32], fault: &Fault) -> Option<Fault> {
        let of_address = matches!(fault.kind, FaultKind::OutOfBounds | FaultKind::Misaligned);
        if !(self.explains && of_address && fault.steps <= MAX_REPEATED) {
            return None;
        }
        let global = self.fresh(launch).ok()?;
        let machine = Machine { follows_origins: true, ..self.machine(launch, &global, params) };
        let explained = exec::run::<Counters>(&machine, launch.limit, launch.races).err()?;
        let meant = (explained.kind, explained.span) == (fault.kind, fault.span);
        meant.then_some(explained)
    }

    /// Global memory at the start.
    fn fresh<'h>(&self, launch: &Launch) -> Result<Global<'h>, Fault> {
        let heap_bytes = vec![0; if self.program.heap { HEAP_BYTES } else { 0 }];
        let with_pointers: BTreeMap<&str, Vec<u8>> = launch
            .pointers
            .keys()
            .map(|name| (&name[..], launch.initial(name, |buffer| self.address(launch, buffer))))
            .collect();
        let buffers = launch.buffers.iter().map(|(name, buffer)| {
            (&name[..], &with_pointers.get(&name[..]).unwrap_or(&buffer.bytes)[..])
        });
        let heap = self.program.heap.then_some(("(heap)", &heap_bytes[..]));
        let none = BTreeMap::new();
        let given = launch.variables.as_ref().unwrap_or(&none);
        for (name, bytes) in given {
            let statics = &self.program.layout.statics;
            match statics.iter().find(|variable| variable.name == *name) {
                Some(found) if found.bytes.len() == bytes.len() => {}
                Some(found) => {
                    let (has, got) = (found.bytes.len(), bytes.len());
                    let message = format!("the variable `{name}` has {has} bytes, not {got}");
                    return Err(Fault::launch(message));
                }
                None => {
                    return Err(Fault::launch(format!("the module has no variable `{name}`")));
                }
            }
        }
        Global::new(&self.program.layout, given, buffers.chain(heap))
    }

    /// The module's variables as a launch has left them, if it asks for them.
    fn variables(&self, launch: &Launch, global: &Global<'_>) -> BTreeMap<String, Buffer> {
        let asked = launch.variables.is_some();
        let statics = if asked { self.program.layout.statics.len() } else { 0 };
        let variables = global.regions()[..statics].iter();
        variables
            .map(|region| (region.name.clone(), Buffer { ty: Type::U8, bytes: region.bytes() }))
            .collect()
    }

    fn machine<'a>(
        &'a self,
        launch: &Launch,
        global: &'a Global<'_>,
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
            one_wins: !launch.store_conflicts,
            follows_origins: false,
            world: None,
            recorder: None,
            observer: None,
            params_marks: None,
            watched_byte: None,
            heap: Mutex::new(exec::Heap::new(program.layout.region_base(index), bytes)),
        }
    }

    /// The buffers as a launch has left them.
    fn buffers(&self, launch: &Launch, global: &Global<'_>) -> BTreeMap<String, Buffer> {
        let statics = self.program.layout.statics.len();
        let regions = &global.regions()[statics..];
        let buffers = launch.buffers.iter().zip(regions);
        buffers
            .map(|((name, buffer), region)| {
                (name.clone(), Buffer { ty: buffer.ty, bytes: region.bytes() })
            })
            .collect()
    }

    /// The address of a buffer of a launch that was checked: the buffer exists.
    fn address(&self, launch: &Launch, buffer: &str) -> u64 {
        let index = launch.buffers.keys().position(|name| name == buffer).unwrap_or(0);
        let layout = &self.program.layout;
        layout.region_base(layout.statics.len() + index)
    }

    /// The bytes of the kernel's parameters.
    fn parameters(&self, launch: &Launch) -> Result<Vec<u8>, Fault> {
        let program = &self.program;
        let parameters: Vec<(&str, u64)> =
            program.params.iter().map(|place| (&*place.name, place.size)).collect();
        bind::check_arguments(&parameters, launch).map_err(Fault::launch)?;
        let mut bytes = vec![0; program.layout.param_bytes as usize];
        for (place, argument) in program.params.iter().zip(&launch.args) {
            let address = |buffer: &str| self.address(launch, buffer);
            let value = argument.bytes(place.size as usize, address);
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

/// Checks that the kernel asks for clusters of one block: the interpreter has no larger ones.
fn check_cluster(kernel: &Function<'_>) -> Result<(), Fault> {
    match bind::cluster(kernel) {
        [1, 1, 1] => Ok(()),
        cluster => {
            let message = format!("clusters of {cluster:?} blocks are not modelled");
            Err(Fault::new(FaultKind::Unsupported, message).at(kernel.span))
        }
    }
}

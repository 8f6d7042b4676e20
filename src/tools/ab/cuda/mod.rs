//! A [`Device`] that is one of NVIDIA's GPUs, through the CUDA driver API.
//!
//! The library is loaded when a device is opened; nothing is linked, and a machine without it gets an
//! [`Error::Unusable`]. A `Cuda` stays in the thread that opened it.

mod clocks;
mod memory;

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute as OfFunction,
};

use super::device::{Device, Error, KernelId, L2, Program, Properties, Usage};
use super::throttle::Clock;
use crate::launch::Launch;
use clocks::Clocks;
use memory::{Memory, Stopwatch};

/// Timed launches that are in flight at once where the L2 cache is flushed in between.
const IN_FLIGHT: usize = 32;

/// One of NVIDIA's devices.
pub struct Cuda {
    device: sys::CUdevice,
    properties: Properties,
    clocks: Option<Clocks>,
    stream: sys::CUstream,
    modules: Vec<sys::CUmodule>,
    kernels: Vec<sys::CUfunction>,
    stopwatches: Vec<Stopwatch>,
    /// Memory of twice the L2 cache's size; overwriting it flushes the cache.
    scratch: Option<Memory>,
    l2_bytes: usize,
    prepared: Option<Prepared>,
}

/// The launch and its buffers.
struct Prepared {
    buffers: BTreeMap<String, (Memory, Original)>,
    /// The bytes of each argument.
    arguments: Vec<Vec<u8>>,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
}

/// The first contents of a buffer.
enum Original {
    OnDevice(Memory),
    OnHost(Vec<u8>),
}

impl Cuda {
    /// Opens the device of this number.
    ///
    /// # Errors
    /// There is no driver, or no such device that it can use.
    pub fn open(ordinal: u32) -> Result<Cuda, Error> {
        // SAFETY: loads the library and nothing else; its initialisers are NVIDIA's.
        if !unsafe { sys::is_culib_present() } {
            let message = "NVIDIA's driver library (libcuda.so.1) cannot be loaded";
            return Err(Error::Unusable(message.to_owned()));
        }
        open(ordinal).map_err(|error| Error::Unusable(describe(error)))
    }

    fn prepared(&self) -> Result<&Prepared, Error> {
        self.prepared.as_ref().ok_or_else(|| Error::Rejected("no launch is prepared".to_owned()))
    }

    fn start(&self, kernel: KernelId) -> Result<(), Error> {
        let Prepared { arguments, grid, block, dynamic_shared, .. } = self.prepared()?;
        let function = self.function(kernel)?;
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        let [grid, block] = [grid, block].map(|&[x, y, z]| (x, y, z));
        // SAFETY: the function belongs to a module that is loaded, there is an argument of the
        // right size for each of its parameters (`kernel::find`), and the driver copies them.
        unsafe {
            result::launch_kernel(
                function,
                grid,
                block,
                *dynamic_shared,
                self.stream,
                &mut pointers,
            )
        }
        .map_err(|error| execution(error, "cannot launch the kernel"))
    }

    fn function(&self, kernel: KernelId) -> Result<sys::CUfunction, Error> {
        let function = self.kernels.get(kernel.0).copied();
        function.ok_or_else(|| Error::Rejected("no such kernel is loaded".to_owned()))
    }

    fn wait(&self) -> Result<(), Error> {
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.stream) }
            .map_err(|error| execution(error, "the launch fails"))
    }

    /// The time of launches that follow each other.
    fn time_row(&self, kernel: KernelId, launches: u32) -> Result<f64, Error> {
        let stopwatch = &self.stopwatches[0];
        let timing = |error| execution(error, "cannot take the time");
        stopwatch.start(self.stream).map_err(timing)?;
        for _ in 0..launches {
            self.start(kernel)?;
        }
        stopwatch.stop(self.stream).map_err(timing)?;
        stopwatch.read().map_err(timing)
    }

    /// The sum of the times of launches with a flush before each.
    fn time_flushed(&self, kernel: KernelId, launches: u32) -> Result<f64, Error> {
        let timing = |error| execution(error, "cannot take the time");
        let mut sum = 0.0;
        let mut left = launches as usize;
        while left > 0 {
            let now = &self.stopwatches[..left.min(IN_FLIGHT)];
            for stopwatch in now {
                if let Some(scratch) = &self.scratch {
                    scratch.overwrite(self.stream).map_err(timing)?;
                }
                stopwatch.start(self.stream).map_err(timing)?;
                self.start(kernel)?;
                stopwatch.stop(self.stream).map_err(timing)?;
            }
            for stopwatch in now {
                sum += stopwatch.read().map_err(timing)?;
            }
            left -= now.len();
        }
        Ok(sum)
    }
}

/// The newest CUDA version that the driver of this machine supports, such as `13.0`; `None` where there is no
/// driver. Needs no device.
pub fn driver() -> Option<String> {
    // SAFETY: loads the library and nothing else; its initialisers are NVIDIA's.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    // The library of a toolkit, which is for linking only, reports an error.
    driver_version().ok().filter(|&version| version > 0).map(show_version)
}

fn driver_version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: writes to `version` alone.
    unsafe { sys::cuDriverGetVersion(&mut version).result()? };
    Ok(version)
}

/// `12040` is CUDA 12.4.
fn show_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn open(ordinal: u32) -> Result<Cuda, DriverError> {
    result::init()?;
    let device = result::device::get(ordinal as i32)?;
    let attribute = |which: Attribute| -> Result<u32, DriverError> {
        // SAFETY: `device` comes from the driver.
        let value = unsafe { result::device::get_attribute(device, which) }?;
        Ok(value.max(0) as u32)
    };
    use Attribute as A;
    let properties = Properties {
        name: result::device::get_name(device)?,
        capability: (
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        driver: show_version(driver_version()?),
        multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
    };
    let l2_bytes = attribute(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize;
    let clocks = Clocks::open(
        attribute(A::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
        attribute(A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
        attribute(A::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
    );
    // SAFETY: `device` comes from the driver; the context is released when the `Cuda` goes.
    unsafe { result::ctx::set_current(result::primary_ctx::retain(device)?)? };
    let stream = result::stream::create(result::stream::StreamKind::Default)?;
    let stopwatches = (0..IN_FLIGHT).map(|_| Stopwatch::new()).collect::<Result<_, _>>()?;
    Ok(Cuda {
        device,
        properties,
        clocks,
        stream,
        modules: Vec::new(),
        kernels: Vec::new(),
        stopwatches,
        scratch: None,
        l2_bytes,
        prepared: None,
    })
}

impl Device for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn prepare(&mut self, launch: &Launch) -> Result<(), Error> {
        let memory = |error| execution(error, "cannot allocate the buffers");
        let dynamic_shared = u32::try_from(launch.dynamic_shared).map_err(|_| {
            Error::Rejected("the launch file's `dynamic_shared` is too large".to_owned())
        })?;
        let mut buffers = BTreeMap::new();
        for (name, buffer) in &launch.buffers {
            let live = Memory::new(buffer.bytes.len()).map_err(memory)?;
            live.write(&buffer.bytes).map_err(memory)?;
            buffers.insert(name.clone(), (live, &buffer.bytes));
        }
        // The copies come after all buffers, so that they never take the place of one.
        let mut kept = BTreeMap::new();
        for (name, (live, bytes)) in buffers {
            let copy = Memory::new(bytes.len()).and_then(|copy| {
                copy.copy_from(&live)?;
                Ok(copy)
            });
            let original = match copy {
                Ok(copy) => Original::OnDevice(copy),
                Err(_) => Original::OnHost(bytes.clone()),
            };
            kept.insert(name, (live, original));
        }
        let mut arguments = Vec::new();
        for argument in &launch.args {
            if let Some(buffer) = argument.buffers().into_iter().find(|&b| !kept.contains_key(b)) {
                return Err(Error::Rejected(format!("no buffer `{buffer}`")));
            }
            arguments.push(argument.bytes(8, |buffer| kept[buffer].0.address));
        }
        result::ctx::synchronize().map_err(memory)?;
        let (grid, block) = (launch.grid, launch.block);
        self.prepared = Some(Prepared { buffers: kept, arguments, grid, block, dynamic_shared });
        Ok(())
    }

    fn load(&mut self, program: &Program<'_>) -> Result<(KernelId, Usage), Error> {
        let name = CString::new(program.kernel)
            .map_err(|_| Error::Rejected("the kernel's name holds a NUL".to_owned()))?;
        let Prepared { block, dynamic_shared, .. } = self.prepared()?;
        let (threads, shared) = (block.iter().product::<u32>(), *dynamic_shared);
        let refused = |error| execution(error, "the driver refuses the program");
        // SAFETY: the image is a whole cubin, which the driver copies.
        let module = unsafe { result::module::load_data(program.cubin.as_ptr().cast()) };
        let module = module.map_err(refused)?;
        self.modules.push(module);
        // SAFETY: the module is loaded, and stays so as long as `self`.
        let function = unsafe { result::module::get_function(module, name) }.map_err(refused)?;
        let attribute = |which: OfFunction| {
            // SAFETY: the function belongs to a module that is loaded.
            unsafe { result::function::get_function_attribute(function, which) }
                .map(|value| value.max(0) as u32)
                .map_err(refused)
        };
        // SAFETY: as above.
        let blocks = unsafe {
            result::function::set_function_attribute(
                function,
                OfFunction::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                shared as i32,
            )
            .map_err(|error| execution(error, "the launch file's `dynamic_shared` is too large"))?;
            result::occupancy::max_active_block_per_multiprocessor(
                function,
                threads as i32,
                shared as usize,
            )
            .map_err(refused)?
        };
        let usage = Usage {
            registers: attribute(OfFunction::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(OfFunction::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            blocks_per_multiprocessor: blocks.max(0) as u32,
        };
        self.kernels.push(function);
        Ok((KernelId(self.kernels.len() - 1), usage))
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.wait()?;
        for (live, original) in self.prepared()?.buffers.values() {
            match original {
                Original::OnDevice(copy) => live.copy_from(copy),
                Original::OnHost(bytes) => live.write(bytes),
            }
            .map_err(|error| execution(error, "cannot fill the buffers"))?;
        }
        // A copy inside the device may still run when the call returns.
        result::ctx::synchronize().map_err(|error| execution(error, "cannot fill the buffers"))
    }

    fn launch(&mut self, kernel: KernelId) -> Result<(), Error> {
        self.start(kernel)?;
        self.wait()
    }

    fn time(&mut self, kernel: KernelId, launches: u32, l2: L2) -> Result<f64, Error> {
        if l2 == L2::Flush && self.scratch.is_none() {
            let memory = Memory::new(2 * self.l2_bytes.max(1 << 20));
            self.scratch = Some(memory.map_err(|error| {
                execution(error, "cannot allocate memory to flush the L2 cache")
            })?);
        }
        let launches = launches.max(1);
        let sum = match l2 {
            L2::Keep => self.time_row(kernel, launches),
            L2::Flush => self.time_flushed(kernel, launches),
        }?;
        Ok(sum / f64::from(launches))
    }

    fn read(&mut self, buffer: &str) -> Result<Vec<u8>, Error> {
        self.wait()?;
        let (memory, _) = self
            .prepared()?
            .buffers
            .get(buffer)
            .ok_or_else(|| Error::Rejected(format!("no buffer `{buffer}`")))?;
        memory.read().map_err(|error| execution(error, "cannot read a buffer"))
    }

    fn clock(&mut self) -> Option<Clock> {
        self.clocks.as_ref()?.read()
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        self.prepared = None;
        self.scratch = None;
        self.stopwatches.clear();
        // SAFETY: modules and stream are alive, and nothing of them is used afterwards; the context
        // was retained in `open`.
        unsafe {
            let mut freed = result::stream::destroy(self.stream);
            for &module in &self.modules {
                freed = freed.and(result::module::unload(module));
            }
            if let Err(error) = freed.and(result::primary_ctx::release(self.device)) {
                log::debug!("cannot give the device back: {error}");
            }
        }
    }
}

/// The meaning of a driver's error: a fault of the kernel (CUDA driver API, `CUresult`: 700 to 719), or an unsupported
/// request.
fn execution(error: DriverError, what: &str) -> Error {
    let code = error.0 as u32;
    if (700..720).contains(&code) {
        return Error::Fault(describe(error));
    }
    Error::Rejected(format!("{what}: {}", describe(error)))
}

/// `CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected`
fn describe(error: DriverError) -> String {
    let text = |found: Result<&std::ffi::CStr, DriverError>| {
        found.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (name, meaning) = (text(error.error_name()), text(error.error_string()));
    if name.is_empty() { format!("{:?}", error.0) } else { format!("{name}: {meaning}") }
}

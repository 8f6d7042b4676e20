//! Memory and events of the device, which are freed with the values here that own them.

use cudarc::driver::result::{self, DriverError, event};
use cudarc::driver::sys;

/// A piece of the device's global memory.
pub(super) struct Memory {
    /// Where the memory begins.
    pub address: sys::CUdeviceptr,
    /// Its size in bytes.
    pub bytes: usize,
}

impl Memory {
    /// Allocates `bytes` bytes; an empty allocation still gets an address.
    pub(super) fn new(bytes: usize) -> Result<Memory, DriverError> {
        // SAFETY: the context is current (`Cuda::open`), and the memory is freed once, in `drop`.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }?;
        Ok(Memory { address, bytes })
    }

    /// Fills the memory from the host, as far as both reach.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), DriverError> {
        let length = bytes.len().min(self.bytes);
        if length == 0 {
            return Ok(());
        }
        // SAFETY: `length` bytes lie inside of both.
        unsafe { result::memcpy_htod_sync(self.address, &bytes[..length]) }
    }

    /// The bytes of the memory, after all that was launched before.
    pub(super) fn read(&self) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; self.bytes];
        if self.bytes > 0 {
            // SAFETY: both have this size.
            unsafe { result::memcpy_dtoh_sync(&mut bytes, self.address) }?;
        }
        Ok(bytes)
    }

    /// Fills the memory from other memory of the device, as far as both reach.
    pub(super) fn copy_from(&self, other: &Memory) -> Result<(), DriverError> {
        let length = self.bytes.min(other.bytes);
        if length == 0 {
            return Ok(());
        }
        // SAFETY: `length` bytes lie inside of both.
        unsafe { result::memcpy_dtod_sync(self.address, other.address, length) }
    }

    /// Overwrites the memory, in the order of the stream.
    pub(super) fn overwrite(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: the memory has this size, and `stream` belongs to the current context.
        unsafe { result::memset_d8_async(self.address, 0x5a, self.bytes, stream) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, and not freed before.
        if let Err(error) = unsafe { result::free_sync(self.address) } {
            log::debug!("cannot free memory of the device: {error}");
        }
    }
}

/// Measures a stretch of time on the device.
pub(super) struct Stopwatch {
    start: sys::CUevent,
    stop: sys::CUevent,
}

impl Stopwatch {
    /// Makes the stopwatch's two events.
    pub(super) fn new() -> Result<Stopwatch, DriverError> {
        let start = event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
        let stop = event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
        Ok(Stopwatch { start, stop })
    }

    /// Starts the time once the stream has done all that was given to it so far.
    pub(super) fn start(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: event and stream belong to the current context.
        unsafe { event::record(self.start, stream) }
    }

    /// Ends the time once the stream has done all that was given to it so far.
    pub(super) fn stop(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: event and stream belong to the current context.
        unsafe { event::record(self.stop, stream) }
    }

    /// Waits for the end of the time and returns it in microseconds.
    pub(super) fn read(&self) -> Result<f64, DriverError> {
        // SAFETY: both events are alive and were recorded.
        let milliseconds = unsafe {
            event::synchronize(self.stop)?;
            event::elapsed(self.start, self.stop)?
        };
        Ok(1000.0 * f64::from(milliseconds))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        for event in [self.start, self.stop] {
            // SAFETY: created in `new`, and not destroyed before.
            if let Err(error) = unsafe { event::destroy(event) } {
                log::debug!("cannot destroy an event: {error}");
            }
        }
    }
}

//! Memory and events of the device that go when their owner does.

use cudarc::driver::result::{self, DriverError, event};
use cudarc::driver::sys;

/// Global memory.
pub struct Memory {
    /// Where it begins.
    pub address: sys::CUdeviceptr,
    /// Its size.
    pub bytes: usize,
}

impl Memory {
    /// Allocates; an empty buffer has an address, too.
    pub fn new(bytes: usize) -> Result<Memory, DriverError> {
        // SAFETY: the context is current (`Cuda::open`), and the memory is freed once, in `drop`.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }?;
        Ok(Memory { address, bytes })
    }

    /// Fills it from the host.
    pub fn write(&self, bytes: &[u8]) -> Result<(), DriverError> {
        let length = bytes.len().min(self.bytes);
        if length == 0 {
            return Ok(());
        }
        // SAFETY: `length` bytes lie inside of both.
        unsafe { result::memcpy_htod_sync(self.address, &bytes[..length]) }
    }

    /// Its bytes, after all that was launched before.
    pub fn read(&self) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; self.bytes];
        if self.bytes > 0 {
            // SAFETY: both have this size.
            unsafe { result::memcpy_dtoh_sync(&mut bytes, self.address) }?;
        }
        Ok(bytes)
    }

    /// Fills it from other memory of the device.
    pub fn copy_from(&self, other: &Memory) -> Result<(), DriverError> {
        let length = self.bytes.min(other.bytes);
        if length == 0 {
            return Ok(());
        }
        // SAFETY: `length` bytes lie inside of both.
        unsafe { result::memcpy_dtod_sync(self.address, other.address, length) }
    }

    /// Overwrites it, in the order of the stream.
    pub fn overwrite(&self, stream: sys::CUstream) -> Result<(), DriverError> {
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

/// A stretch of time on the device.
pub struct Stopwatch {
    start: sys::CUevent,
    stop: sys::CUevent,
}

impl Stopwatch {
    /// Makes its two events.
    pub fn new() -> Result<Stopwatch, DriverError> {
        let start = event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
        let stop = event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
        Ok(Stopwatch { start, stop })
    }

    /// Time begins where the stream is now.
    pub fn start(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: event and stream belong to the current context.
        unsafe { event::record(self.start, stream) }
    }

    /// Time ends where the stream is now.
    pub fn stop(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: event and stream belong to the current context.
        unsafe { event::record(self.stop, stream) }
    }

    /// Waits for the end; the time in microseconds.
    pub fn read(&self) -> Result<f64, DriverError> {
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

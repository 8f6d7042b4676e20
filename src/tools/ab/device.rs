//! The interface of a device for a measurement. [`super::cuda`] is the real one; tests bring their own.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::throttle::Clock;
use crate::launch::Launch;
use crate::source::SourceFile;

/// Whether a kernel finds the L2 cache as the launch before it left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum L2 {
    /// The kernel finds it: launches follow each other.
    #[default]
    Keep,
    /// The kernel does not: before each launch the cache is filled with something else.
    Flush,
}

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Major and minor number of its compute capability.
    pub capability: (u32, u32),
    /// The newest CUDA version that its driver supports, such as `13.0`.
    pub driver: String,
    /// Multiprocessors.
    pub multiprocessors: u32,
}

/// A program to load onto a device.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its PTX.
    pub source: &'a SourceFile,
    /// Its cubin for this device, by ptxas.
    pub cubin: &'a [u8],
    /// The kernel.
    pub kernel: &'a str,
}

/// A kernel that was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelId(pub usize);

/// The resources of a multiprocessor that a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread: spilled registers and arrays.
    pub local_bytes: u32,
    /// Blocks of the launch that fit on a multiprocessor at once.
    pub blocks_per_multiprocessor: u32,
}

/// The error of a request to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no GPU to use, or no driver.
    Unusable(String),
    /// The launch or the program cannot be used on this device.
    Rejected(String),
    /// The kernel faulted.
    Fault(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unusable(message) => write!(f, "no usable GPU: {message}"),
            Error::Rejected(message) => f.write_str(message),
            Error::Fault(message) => write!(f, "the kernel faults on the GPU: {message}"),
        }
    }
}

impl std::error::Error for Error {}

/// A device with one set of buffers, those of one launch file, at the same addresses for every
/// kernel.
pub trait Device {
    /// The device's properties.
    fn properties(&self) -> &Properties;

    /// Allocates the buffers of a launch and fills them. This call comes first, and once.
    ///
    /// # Errors
    /// There is too little memory.
    fn prepare(&mut self, launch: &Launch) -> Result<(), Error>;

    /// Loads a program for the launch that was prepared.
    ///
    /// # Errors
    /// The driver refuses the program, or the program has no such kernel.
    fn load(&mut self, program: &Program<'_>) -> Result<(KernelId, Usage), Error>;

    /// Gives the buffers their first contents again.
    ///
    /// # Errors
    /// The copy failed, or an earlier launch did.
    fn reset(&mut self) -> Result<(), Error>;

    /// Launches a kernel and waits for its end.
    ///
    /// # Errors
    /// The kernel faulted, or cannot be launched in this shape.
    fn launch(&mut self, kernel: KernelId) -> Result<(), Error>;

    /// The time that one of `launches` launches took, in microseconds.
    ///
    /// # Errors
    /// As [`Device::launch`].
    fn time(&mut self, kernel: KernelId, launches: u32, l2: L2) -> Result<f64, Error>;

    /// The bytes of a buffer.
    ///
    /// # Errors
    /// There is no such buffer, the copy failed, or an earlier launch did.
    fn read(&mut self, buffer: &str) -> Result<Vec<u8>, Error>;

    /// The clocks right now, where the device tells.
    fn clock(&mut self) -> Option<Clock>;
}

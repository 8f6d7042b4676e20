//! A/B timing of a kernel and its variants on a GPU.
//!
//! In: variants as PTX, a launch, a device. Out: a [`measurement::Measurement`], or why there is none.
//! Promised: nothing is timed before its output was compared with the original's, bit by bit; variants
//! take turns; there is no verdict without an interval. Not promised: that a time means anything on a
//! GPU that others use as well.
//!
//! - [`device`]: the interface to a device; [`cuda`] implements it by NVIDIA's driver, loaded at run time.
//! - [`kernel`], [`assemble`]: from a PTX text to code that a device loads.
//! - [`experiment`]: the measurement; [`schedule`]: its order.
//! - [`stats`], [`verdict`], [`throttle`], [`compare`]: pure functions from numbers to judgements.
//! - [`measurement`]: the outcome as data and as a table; [`tuned`]: as an entry of a profile.
//! - [`check`]: the interpreter's buffers against the device's.
//!
//! **Invariant:** only [`cuda`] touches a device or calls foreign functions; all other modules run,
//! and are tested, without a GPU.

pub mod assemble;
pub mod check;
pub mod compare;
#[expect(unsafe_code, reason = "the driver is a C library")]
pub mod cuda;
pub mod device;
pub mod experiment;
pub mod kernel;
pub mod measurement;
pub mod schedule;
pub mod stats;
pub mod throttle;
pub mod tuned;
pub mod verdict;

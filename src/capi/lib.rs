//! `libptxasw.so`: the interpreter as a C function, which executes a kernel on the memory of the process that calls it.
//!
//! In: a PTX text, the values of the parameters, the shape of a launch ([`ptx_run`]; `ptxasw.h` is its header). Out: memory
//! as the kernel leaves it, and an error code.
//!
//! Promises: no input ends the process, except that memory which another thread unmaps meanwhile may be accessed. The kernel
//! sees the addresses of the process. It can access memory that is mapped when the call begins, since nothing
//! tells how long a buffer is.
//!
//! # Where to start
//!
//! - `src/capi/lib.rs`: all of it, and the only `unsafe` code
//! - `src/capi/mappings.rs`: the memory of the process
//! - `src/capi/ptxasw.h`: what callers are told
//!
//! Example: `cargo run -p ptxasw-capi --example scale`.

#![allow(unsafe_code, reason = "a C function, on memory of its caller")]

use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::sync::atomic::AtomicU32;
use std::{fs, io, thread};

use ptxasw_interp::interp::{Fault, HostMemory, Kernel};
use ptxasw_interp::launch::{Argument, Launch, bind};
use ptxasw_ptx::ptx::{Depth, parse};
use ptxasw_ptx::source::SourceFile;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;

mod mappings;

use mappings::Mapping;

/// The kernel was executed.
pub const OK: c_int = 0;
/// The text or the launch cannot be used, or an instruction is not modelled.
pub const UNUSABLE: c_int = 2;
/// The kernel faulted.
pub const FAULTED: c_int = 3;
/// A mistake of this library.
pub const INTERNAL: c_int = 4;

/// The variable of the environment with the checks besides bounds: `race`, `init`, both with a comma between, or nothing.
const CHECKS: &str = "PTXASW_RUN_CHECKS";

/// Bytes of the stack on which kernels are parsed and executed; untouched pages cost nothing.
const STACK_BYTES: usize = 64 << 20;

/// The most bytes of a region: the stamps of a region that a kernel accesses have room for all of it.
const MAX_REGION: usize = 16 << 20;

/// Executes the only kernel of a PTX text on the memory of this process; `ptxasw.h` describes the parameters. Returns 0 or
/// one of the error codes, whose message is on standard error.
///
/// # Safety
/// `source` points to a text that a zero byte ends, `args` to `n_args` values. The kernel accesses only memory that its
/// arguments lead to, and nobody else accesses or unmaps that until the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_run(
    source: *const c_char,
    n_args: c_int,
    args: *const *mut c_void,
    lx: c_int,
    ly: c_int,
    lz: c_int,
    gx: c_int,
    gy: c_int,
    gz: c_int,
    smem: c_int,
) -> c_int {
    if source.is_null() || n_args > 0 && args.is_null() {
        return report(&(UNUSABLE, "ptx_run: error: `source` or `args` is null".to_owned()));
    }
    // SAFETY: it is not null, and the caller promises the zero byte.
    let text = unsafe { CStr::from_ptr(source) }.to_bytes().to_vec();
    let count = usize::try_from(n_args).unwrap_or(0);
    // SAFETY: where there are values they are not null, and the caller promises that there are as many.
    let value = |at| unsafe { *args.add(at) } as u64;
    let values: Vec<u64> = (0..count).map(value).collect();
    let sizes = [[gx, gy, gz], [lx, ly, lz]];
    let work = || execute(text, &values, sizes, smem);
    let done = thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        started.map(thread::ScopedJoinHandle::join)
    });
    match done {
        Ok(Ok(Ok(printed))) => {
            // A caller without standard output has a kernel that prints all the same.
            let _ = io::stdout().write_all(printed.as_bytes());
            OK
        }
        Ok(Ok(Err(failure))) => report(&failure),
        Ok(Err(panicked)) => report(&(INTERNAL, format!("ptx_run: error: {}", said(&panicked)))),
        Err(error) => report(&(INTERNAL, format!("ptx_run: error: no thread: {error}"))),
    }
}

/// An error code, and the message.
type Failure = (c_int, String);

fn report(failure: &Failure) -> c_int {
    let _ = writeln!(io::stderr(), "{}", failure.1);
    failure.0
}

/// The words of a panic.
fn said(panicked: &Box<dyn Any + Send>) -> &str {
    let text = panicked.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panicked.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

/// Parses and executes a kernel; returns its printed text.
fn execute(
    text: Vec<u8>,
    values: &[u64],
    sizes: [[c_int; 3]; 2],
    smem: c_int,
) -> Result<String, Failure> {
    let unusable = |message: String| (UNUSABLE, message);
    let about = |message: String| unusable(format!("ptx_run: error: {message}"));
    let source = SourceFile::from_bytes("ptx_run", text).map_err(|e| unusable(e.to_string()))?;
    let module = parse(&source, Depth::All).map_err(|error| unusable(error.to_string()))?;
    let function = bind::find_kernel(&module, None).map_err(about)?;
    let mut launch = Launch::one_warp(function.name.text.to_owned());
    let size = |n: c_int| u32::try_from(n).map_err(|_| about(format!("a size of {n}")));
    for (target, given) in [&mut launch.grid, &mut launch.block].into_iter().zip(sizes) {
        for (target, n) in target.iter_mut().zip(given) {
            *target = size(n)?;
        }
    }
    launch.dynamic_shared = size(smem)?.into();
    (launch.races, launch.uninitialized) = checks().map_err(about)?;
    launch.args = arguments(&bind::parameters(function), values).map_err(about)?;
    let fault = |fault: Fault| {
        let code = if fault.kind.is_kernel_fault() { FAULTED } else { UNUSABLE };
        match fault.span {
            Some(_) => (code, fault.diagnostic(&source).to_string()),
            None => (code, format!("ptx_run: error: {fault}")),
        }
    };
    let kernel = Kernel::new(&module, &launch, false).map_err(fault)?;
    let list = fs::read_to_string("/proc/self/maps");
    let list = list.map_err(|error| about(format!("/proc/self/maps cannot be read: {error}")))?;
    let mapped = mappings::parse(&list);
    let memory: Vec<HostMemory<'_>> = mapped.iter().flat_map(regions).collect();
    kernel.run_in_place(&launch, &memory).map_err(fault)
}

/// The arguments of a kernel with these parameters, which have a name and a size in bytes.
fn arguments(parameters: &[(&str, u64)], values: &[u64]) -> Result<Vec<Argument>, String> {
    let (wanted, given) = (parameters.len(), values.len());
    if wanted != given {
        return Err(format!("the kernel has {wanted} parameters, not {given}"));
    }
    let argument = |(&(name, bytes), value): (&(&str, u64), &u64)| {
        let value = value.to_le_bytes();
        let own = usize::try_from(bytes).ok().and_then(|bytes| value.get(..bytes));
        let own = own.ok_or_else(|| {
            format!("parameter `{name}` has {bytes} bytes; a value of `args` has 8")
        })?;
        Ok(Argument::Value(own.to_vec()))
    };
    parameters.iter().zip(values).map(argument).collect()
}

/// Whether races and values that nobody has determined are looked for.
#[expect(clippy::disallowed_methods, reason = "the function has no parameter for it")]
fn checks() -> Result<(bool, bool), String> {
    let Ok(named) = std::env::var(CHECKS) else { return Ok((true, true)) };
    let names = || named.split(',').map(str::trim).filter(|name| !name.is_empty());
    match names().find(|name| !["race", "init"].contains(name)) {
        Some(other) => Err(format!("{CHECKS}: `{other}` is neither `race` nor `init`")),
        None => Ok((names().any(|name| name == "race"), names().any(|name| name == "init"))),
    }
}

/// The words of a mapping, as regions of at most [`MAX_REGION`] bytes.
fn regions(mapping: &Mapping) -> impl Iterator<Item = HostMemory<'_>> {
    let Mapping { addresses, read_only, name } = mapping;
    addresses.clone().step_by(MAX_REGION).map(|start| {
        let bytes = (addresses.end - start).min(MAX_REGION);
        // SAFETY: pages are mapped there that can be read, and pages are multiples of a word. An atomic word may be changed by
        // others. Only words are accessed that the kernel asks for; the caller promises that nobody else accesses or unmaps
        // these, and those that cannot be written are not written.
        let words = unsafe { std::slice::from_raw_parts(start as *const AtomicU32, bytes / 4) };
        HostMemory { name, address: start as u64, words, read_only: *read_only }
    })
}

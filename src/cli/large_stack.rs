//! Work on a thread with a large stack.
//!
//! In: a function. Out: its result, or the panic that it ended with, which is logged.

use std::io;

/// Stack sizes to try for the rewriter's thread, in bytes. The rewriter may recurse deeply, and stack
/// that it does not touch costs nothing; under a limit on address space (`ulimit -v`) the smaller one
/// has to do.
const STACK_BYTES: [usize; 2] = [256 << 20, 8 << 20];

/// Works on a thread with a large stack; a panic is logged and does not print.
///
/// # Errors
/// No thread can be started; the inner error is a panic.
pub(super) fn on_large_stack<R: Send>(
    work: impl Fn() -> R + Sync,
) -> io::Result<std::thread::Result<R>> {
    // The message travels with the panic; the default hook would print it besides.
    std::panic::set_hook(Box::new(|info| log::error!("{info}")));
    let result = std::thread::scope(|scope| {
        let start =
            |bytes| std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, &work);
        let thread = start(STACK_BYTES[0]).or_else(|_| start(STACK_BYTES[1]));
        thread.map(std::thread::ScopedJoinHandle::join)
    });
    drop(std::panic::take_hook());
    result
}

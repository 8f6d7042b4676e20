//! z3's context for one function at a time.
//!
//! Making a context takes longer than most claims, so it is made for the first claim and kept for the
//! function. Earlier work of z3 can show in its answers, so a function never sees a context that
//! another one has used: which thread looks at which function is chance.

use std::cell::{Cell, RefCell};

use z3::{Config, Context, with_z3_config, with_z3_context};

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
    /// Whether this thread's default context, which z3's interface always makes, was never used.
    static IS_UNUSED: Cell<bool> = const { Cell::new(true) };
}

/// Forgets all queries of this thread: the next ones are about another function.
pub fn forget() {
    CURRENT.with_borrow_mut(|current| *current = None);
}

/// Runs `work` in the context of the current function.
pub(super) fn within<R: Send + Sync>(work: impl FnOnce() -> R + Send + Sync) -> R {
    let known = CURRENT.with_borrow(Clone::clone);
    let context = known.unwrap_or_else(|| {
        let fresh = fresh();
        CURRENT.with_borrow_mut(|current| *current = Some(fresh.clone()));
        fresh
    });
    with_z3_context(&context, work)
}

/// More bytes than z3 takes at a time when it makes a context, which is 8 MB: most of the cost of
/// making one is that these are new pages.
const LARGEST_BLOCK: usize = 20 << 20;

/// Lets the pages that one function's context gives back serve the next one: an allocator such as
/// glibc's keeps blocks up to the size of the largest that was ever given back. The block that is
/// allocated here is never touched, so it takes no memory.
fn keep_pages() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGEST_BLOCK))));
}

fn fresh() -> Context {
    keep_pages();
    if IS_UNUSED.replace(false) {
        return Context::thread_local();
    }
    // A context may not leave the closure that runs in it, but it may stay on its thread.
    thread_local! {
        static MADE: RefCell<Option<Context>> = const { RefCell::new(None) };
    }
    with_z3_config(&Config::new(), || {
        MADE.with_borrow_mut(|made| *made = Some(Context::thread_local()));
    });
    MADE.with_borrow_mut(Option::take).unwrap_or_else(Context::thread_local)
}

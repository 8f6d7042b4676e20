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

/// Runs `work` in a context of its own, for many claims by [`super::Solver`] about one pair of functions. Earlier work of
/// z3 shows in its answers, so claims that belong together and always come in one order go into one session. The context
/// is made for the first claim.
pub fn session<R>(work: impl FnOnce() -> R) -> R {
    /// Puts the context back that the thread had, also after a panic.
    struct Outer(Option<Context>);
    impl Drop for Outer {
        fn drop(&mut self) {
            let outer = self.0.take();
            CURRENT.with_borrow_mut(|current| *current = outer);
        }
    }
    let _outer = Outer(CURRENT.with_borrow_mut(Option::take));
    work()
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

fn fresh() -> Context {
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

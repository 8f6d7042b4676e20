//! Mistakes that the tests plant into the analysis, the rewriter and the synthesis, to see that their judges notice.
//!
//! In: a mistake, and work to do with it planted (`with`). Out: for each place where a mistake would be made, whether
//! it is to be made there (`planted!(Bug::X)`). Each mistake is one condition at one place. Without the Cargo feature
//! `internals`, which only the tests turn on, `planted!` is the constant `false`, and none of the mistakes is left in
//! the program. The mistakes themselves are in `mistakes`.

mod mistakes;

pub use mistakes::Bug;
#[cfg(feature = "internals")]
pub use mistakes::Set;

/// Whether a mistake is planted where this thread works: `planted!(Bug::X)`, at the one place where the mistake would
/// be made. Without the feature `internals` it is the constant `false`.
#[macro_export]
macro_rules! planted {
    (Bug::$bug:ident) => {
        $crate::planted::is($crate::planted::Bug::$bug)
    };
}

#[cfg(feature = "internals")]
thread_local! {
    static HERE: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// The planted mistake, if any, of the thread that made this value. Has no size without the feature `internals`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    #[cfg(feature = "internals")]
    bug: Option<Bug>,
}

/// Whether this mistake is planted where this thread works.
#[cfg(feature = "internals")]
pub fn is(bug: Bug) -> bool {
    HERE.get() == Some(bug)
}

/// Whether this mistake is planted: never.
#[cfg(not(feature = "internals"))]
#[inline(always)]
pub const fn is(_bug: Bug) -> bool {
    false
}

/// Does some work with a mistake planted (`None`: with none), in this thread and in those that [`crate::parallel`]
/// works in. What judges the work belongs outside.
#[cfg(feature = "internals")]
pub fn with<R>(bug: impl Into<Option<Bug>>, work: impl FnOnce() -> R) -> R {
    Scope { bug: bug.into() }.enter(work)
}

impl Scope {
    /// The scope that this thread works in.
    pub fn here() -> Scope {
        Scope {
            #[cfg(feature = "internals")]
            bug: HERE.get(),
        }
    }

    /// Works in this scope; afterwards, even after a panic, the thread is in the scope that it was in.
    #[cfg(feature = "internals")]
    pub fn enter<R>(self, work: impl FnOnce() -> R) -> R {
        struct Back(Option<Bug>);
        impl Drop for Back {
            fn drop(&mut self) {
                HERE.set(self.0);
            }
        }
        let _back = Back(HERE.replace(self.bug));
        work()
    }

    /// Does the work.
    #[cfg(not(feature = "internals"))]
    #[inline(always)]
    pub fn enter<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

impl Bug {
    /// Whether a mistake about names is planted here: then the placed code is not checked for names once more.
    pub fn is_about_names_here() -> bool {
        #[cfg(feature = "internals")]
        return HERE.get().is_some_and(|bug| Bug::of(Set::Names).contains(&bug));
        #[cfg(not(feature = "internals"))]
        false
    }
}
